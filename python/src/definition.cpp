#include "definition.h"

#include <deque>
#include <string_view>

#include "status.h"
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nvfuser::python {

namespace {

struct FusionDefinition {
  FusionPtr fusion;
  Operators ops;
};

nb::object wrap(const FusionPtr& fusion, int64_t id) {
  if (id < 0) {
    return nb::none();
  }
  int32_t is_tensor = 0;
  check(nvf_value_info(fusion->defining(), id, &is_tensor, nullptr, nullptr));
  return is_tensor != 0 ? nb::cast(Tensor{{fusion, id}}) : nb::cast(Scalar{{fusion, id}});
}

/// Python objects as the arguments of a call.
class Arguments {
 public:
  Arguments(const Fusion& fusion, const char* operation) : fusion_(fusion), operation_(operation) {}

  nvf_argument convert(nb::handle object, const char* name = nullptr) {
    nvf_argument result{};
    result.name = name;
    PyObject* raw = object.ptr();
    if (object.is_none()) {
      result.kind = NVF_ARG_NONE;
    } else if (const Value* value = valueOf(object)) {
      if (value->fusion.get() != &fusion_) {
        throw UserError(std::string(operation_) + ": an argument belongs to fusion " +
                        std::to_string(value->fusion->id()) + ", but fusion " +
                        std::to_string(fusion_.id()) + " is being defined");
      }
      result.kind = NVF_ARG_VALUE;
      result.integer = value->id;
    } else if (nb::isinstance<nvf_dtype>(object)) {
      result.kind = NVF_ARG_DTYPE;
      result.integer = nb::cast<nvf_dtype>(object);
    } else if (PyBool_Check(raw)) {
      result.kind = NVF_ARG_BOOL;
      result.integer = raw == Py_True ? 1 : 0;
    } else if (PyFloat_Check(raw)) {
      result.kind = NVF_ARG_DOUBLE;
      result.real = PyFloat_AsDouble(raw);
    } else if (PyComplex_Check(raw)) {
      result.kind = NVF_ARG_COMPLEX;
      result.real = PyComplex_RealAsDouble(raw);
      result.imag = PyComplex_ImagAsDouble(raw);
    } else if (PyIndex_Check(raw) && !nb::hasattr(object, "__dlpack__")) {
      result.kind = NVF_ARG_INT;
      auto integer = nb::steal(PyNumber_Index(raw));
      result.integer = integer.is_valid() ? PyLong_AsLongLong(integer.ptr()) : -1;
      if (result.integer == -1 && PyErr_Occurred() != nullptr) {
        throw nb::python_error();
      }
    } else if (PySequence_Check(raw) && !PyUnicode_Check(raw) &&
               !nb::hasattr(object, "__dlpack__")) {
      std::vector<nvf_argument> items;
      for (nb::handle item : nb::borrow<nb::sequence>(object)) {
        items.push_back(convert(item));
      }
      result.kind = NVF_ARG_LIST;
      result.count = static_cast<int64_t>(items.size());
      lists_.push_back(std::move(items));
      result.items = lists_.back().data();
    } else {
      const std::string message =
          std::string(operation_) + ": a " + nb::cast<std::string>(object.type().attr("__name__")) +
          " is no argument of operations; they take tensors and scalars of the fusion, numbers, "
          "DataTypes and lists of these";
      throw nb::type_error(message.c_str());
    }
    return result;
  }

  const char* keep(std::string name) { return names_.emplace_back(std::move(name)).c_str(); }

 private:
  static const Value* valueOf(nb::handle object) {
    if (nb::isinstance<Tensor>(object)) {
      return nb::cast<const Tensor*>(object);
    }
    return nb::isinstance<Scalar>(object) ? nb::cast<const Scalar*>(object) : nullptr;
  }

  const Fusion& fusion_;
  const char* operation_;
  std::deque<std::vector<nvf_argument>> lists_;
  std::deque<std::string> names_;
};

/// What follows "->" in an operation's signature.
std::string_view resultOf(int64_t index) {
  const std::string_view signature = nvf_op_signature(index);
  const size_t arrow = signature.rfind(" -> ");
  return arrow == std::string_view::npos ? std::string_view() : signature.substr(arrow + 4);
}

Tensor defineTensor(const FusionDefinition& self, const std::vector<int64_t>* sizes,
                    const std::vector<bool>* contiguous, int64_t ndims, nvf_dtype dtype) {
  std::vector<int8_t> flags;
  if (contiguous != nullptr) {
    if (contiguous->size() != sizes->size()) {
      throw UserError("define_tensor: symbolic_sizes has " + std::to_string(sizes->size()) +
                      " entries, but contiguous has " + std::to_string(contiguous->size()));
    }
    flags.assign(contiguous->begin(), contiguous->end());
  }
  int64_t id = -1;
  check(nvf_define_tensor(self.fusion->defining(), ndims,
                          sizes != nullptr ? sizes->data() : nullptr,
                          contiguous != nullptr ? flags.data() : nullptr, dtype, &id));
  return {{self.fusion, id}};
}

Tensor defineTensorLike(const FusionDefinition& self, const std::vector<int64_t>& sizes,
                        const std::vector<int64_t>& strides, nvf_dtype dtype) {
  if (sizes.size() != strides.size()) {
    throw UserError("define_tensor: sizes has " + std::to_string(sizes.size()) +
                    " entries, but strides has " + std::to_string(strides.size()));
  }
  int64_t id = -1;
  check(nvf_define_tensor_like(self.fusion->defining(), static_cast<int64_t>(sizes.size()),
                               sizes.data(), strides.data(), dtype, &id));
  return {{self.fusion, id}};
}

Scalar defineConstant(const FusionDefinition& self, nb::handle value) {
  nvf_fusion* fusion = self.fusion->defining();
  const nvf_argument given = Arguments(*self.fusion, "define_constant").convert(value);
  int64_t id = -1;
  switch (given.kind) {
    case NVF_ARG_BOOL:
      check(nvf_define_constant_bool(fusion, static_cast<int32_t>(given.integer), &id));
      break;
    case NVF_ARG_INT:
      check(nvf_define_constant_int(fusion, given.integer, &id));
      break;
    case NVF_ARG_DOUBLE:
      check(nvf_define_constant_double(fusion, given.real, &id));
      break;
    case NVF_ARG_COMPLEX:
      check(nvf_define_constant_complex(fusion, given.real, given.imag, &id));
      break;
    default:
      throw nb::type_error("define_constant: a constant is a bool, an int, a float or a complex");
  }
  return {{self.fusion, id}};
}

template <typename ValueClass>
void bindValue(nb::module_& module, const char* name, const char* doc) {
  nb::class_<ValueClass>(module, name, doc)
      .def_prop_ro(
          "ndim", [](const ValueClass& self) { return self.ndims(); }, "Number of axes.")
      .def_prop_ro(
          "dtype", [](const ValueClass& self) { return self.dtype(); }, "Its DataType.")
      .def("__repr__", [prefix = std::string(name, 1)](const ValueClass& self) {
        return prefix + std::to_string(self.id);
      });
}

void bindOperators(nb::class_<FusionDefinition>& scope) {
  nb::class_<Operators> operators(
      scope, "Operators",
      "The operations: output = fd.ops.NAME(arguments). Operands are tensors and scalars of the "
      "fusion, or numbers.");
  for (int64_t index = 0; index < nvf_op_count(); ++index) {
    const std::string signature = nvf_op_signature(index);
    const size_t open = signature.find('(') + 1;
    const bool no_parameters = signature[open] == ')';
    const std::string with_self = "def " + signature.substr(0, open) + "self" +
                                  (no_parameters ? "" : ", ") + signature.substr(open);
    nb::cpp_function_def(
        [index](const Operators& self, const nb::args& arguments, const nb::kwargs& named) {
          return self.call(index, arguments, named);
        },
        nb::scope(operators), nb::name(nvf_op_name(index)), nb::is_method(),
        nb::sig(with_self.c_str()), nvf_op_doc(index));
  }
}

}  // namespace

int64_t Value::ndims() const {
  int64_t result = 0;
  check(nvf_value_info(fusion->handle(), id, nullptr, &result, nullptr));
  return result;
}

nvf_dtype Value::dtype() const {
  int32_t result = 0;
  check(nvf_value_info(fusion->handle(), id, nullptr, nullptr, &result));
  return static_cast<nvf_dtype>(result);
}

nb::object Operators::call(int64_t index, const nb::args& arguments,
                           const nb::kwargs& named) const {
  const char* name = nvf_op_name(index);
  nvf_fusion* handle = fusion->defining();
  Arguments convert(*fusion, name);
  std::vector<nvf_argument> given;
  for (nb::handle argument : arguments) {
    given.push_back(convert.convert(argument));
  }
  for (auto [key, argument] : named) {
    given.push_back(convert.convert(argument, convert.keep(nb::cast<std::string>(key))));
  }
  constexpr int64_t kMostResults = 1024;  // chunk has as many as the user asks for
  std::vector<int64_t> ids(kMostResults);
  int64_t count = 0;
  check(nvf_op(handle, name, given.data(), static_cast<int64_t>(given.size()), ids.data(),
               kMostResults, &count));
  const std::string_view result = resultOf(index);
  if (count == 1 && !result.starts_with("list")) {
    return wrap(fusion, ids[0]);
  }
  nb::list values;
  for (int64_t i = 0; i < count; ++i) {
    values.append(wrap(fusion, ids[static_cast<size_t>(i)]));
  }
  return result.starts_with("list") ? nb::object(values) : nb::object(nb::tuple(values));
}

void bindDefinition(nb::module_& module) {
  using namespace nb::literals;
  bindValue<Tensor>(module, "Tensor", "A tensor of a fusion.");
  bindValue<Scalar>(module, "Scalar", "A scalar of a fusion.");
  nb::class_<FusionDefinition> definition(
      module, "FusionDefinition",
      "Defines a Fusion: `with FusionDefinition(fusion) as fd:`. An exception in the block leaves "
      "the fusion undefined.");
  bindOperators(definition);
  definition
      .def(
          "__init__",
          [](FusionDefinition* self, const FusionPtr& fusion) {
            new (self) FusionDefinition{fusion, Operators{fusion}};
          },
          "fusion"_a)
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<FusionDefinition&>(self).fusion->beginDefinition();
             return nb::borrow(self);
           })
      .def(
          "__exit__",
          [](const FusionDefinition& self, nb::handle kind, nb::handle, nb::handle) {
            self.fusion->endDefinition(kind.is_none());
          },
          "kind"_a.none(), "error"_a.none(), "traceback"_a.none())
      .def_prop_ro(
          "ops", [](const FusionDefinition& self) { return self.ops; },
          "The operations; help(FusionDefinition.Operators) lists them.")
      .def(
          "define_tensor",
          [](const FusionDefinition& self, int64_t ndims, nvf_dtype dtype) {
            return defineTensor(self, nullptr, nullptr, ndims, dtype);
          },
          "ndims"_a, "dtype"_a = NVF_FLOAT,
          "An input tensor by its number of axes: symbolic sizes, no contiguity.")
      .def(
          "define_tensor",
          [](const FusionDefinition& self, const std::vector<int64_t>& sizes,
             const std::vector<bool>& contiguous, nvf_dtype dtype) {
            return defineTensor(self, &sizes, &contiguous, static_cast<int64_t>(sizes.size()),
                                dtype);
          },
          "symbolic_sizes"_a, "contiguous"_a, "dtype"_a = NVF_FLOAT,
          "An input tensor by symbolic sizes (-1, or 1 for a broadcast axis) and whether each "
          "axis is contiguous with the one to its right.")
      .def(
          "define_tensor",
          [](const FusionDefinition& self, const std::vector<int64_t>& sizes,
             const std::vector<int64_t>& strides,
             nvf_dtype dtype) { return defineTensorLike(self, sizes, strides, dtype); },
          "sizes"_a, "strides"_a, "dtype"_a = NVF_FLOAT,
          "An input tensor like one of these sizes and strides: sizes become symbolic, 1 stays.")
      .def(
          "define_scalar",
          [](const FusionDefinition& self, nvf_dtype dtype) {
            int64_t id = -1;
            check(nvf_define_scalar(self.fusion->defining(), dtype, &id));
            return Scalar{{self.fusion, id}};
          },
          "dtype"_a = NVF_DOUBLE, "An input scalar.")
      .def("define_constant", &defineConstant, "value"_a,
           "A constant of type Bool, Int, Double or ComplexDouble, as the value is.")
      .def(
          "add_output",
          [](const FusionDefinition& self, nb::handle output) {
            const nvf_argument given = Arguments(*self.fusion, "add_output").convert(output);
            if (given.kind != NVF_ARG_VALUE) {
              throw nb::type_error("add_output: an output is a tensor or a scalar of the fusion");
            }
            check(nvf_add_output(self.fusion->defining(), given.integer));
          },
          "output"_a, "Makes a tensor or a scalar an output; a scalar comes out as a tensor.");
}

}  // namespace nvfuser::python
