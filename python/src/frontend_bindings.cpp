// The documented frontend as Python classes.

#include "arguments.h"
#include "dtypes.h"
#include "frontend.h"
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

using FusionPtr = std::shared_ptr<FrontendFusion>;

/// `fd.ops`: calls operations by name.
struct Operators {
  FusionPtr fusion;
};

struct FusionDefinition {
  FusionPtr fusion;
  Operators ops;

  capi::Definition& defining() const { return *fusion->defining(); }
};

nb::object wrapFrontend(const DefinitionPtr& owner, Val* val) {
  if (val->isA<TensorView>()) {
    return nb::cast(FrontendTensor{{owner, val}});
  }
  return nb::cast(FrontendScalar{{owner, val}});
}

nb::object valueWithId(const FusionDefinition& self, int64_t id) {
  return wrapFrontend(self.fusion->defining(), self.defining().valueOf(id));
}

template <typename ValueClass>
void bindValue(nb::module_& module, const char* name, const char* doc) {
  nb::class_<ValueClass>(module, name, doc)
      .def_prop_ro(
          "ndim",
          [](const ValueClass& self) {
            const Val* val = self.val();
            return val->template isA<TensorView>()
                       ? capi::Axes{}.of(val->template as<TensorView>()).size()
                       : 0;
          },
          "Number of axes.")
      .def_prop_ro(
          "dtype", [](const ValueClass& self) { return fromDtype(self.val()->dtype()); },
          "Its DataType.")
      .def("__repr__", [prefix = std::string(name, 1)](const ValueClass& self) {
        return prefix + std::to_string(self.owner->idOf(self.val()));
      });
}

void bindOperators(nb::class_<FusionDefinition>& scope) {
  nb::class_<Operators> operators(
      scope, "Operators",
      "The operations: output = fd.ops.NAME(arguments). Operands are tensors and scalars of the "
      "fusion, or numbers. `axes`, `dims` and `dim` name the same parameter, as do `keepdim` and "
      "`keep_dim`. A wrong argument is a TypeError, one that makes no sense a UserError.");
  for (const capi::Operation& operation : capi::operations()) {
    nb::cpp_function_def(
        [&operation](const Operators& self, const nb::args& arguments, const nb::kwargs& named) {
          return callOperation(self.fusion->defining(), operation, arguments, named, &wrapFrontend);
        },
        nb::scope(operators), nb::name(operation.name.c_str()), nb::is_method(),
        nb::sig(pythonSignature(operation, false).c_str()), pythonDoc(operation).c_str());
  }
}

nb::object defineTensorBySizes(const FusionDefinition& self, const std::vector<int64_t>& sizes,
                               const std::vector<bool>& contiguous, nvf_dtype dtype) {
  if (sizes.size() != contiguous.size()) {
    userError("define_tensor: symbolic_sizes has ", sizes.size(), " entries, but contiguous has ",
              contiguous.size());
  }
  requireDtype(dtype);
  return valueWithId(self, self.defining().defineTensor(sizes, contiguous, dtype));
}

nb::object defineTensorByRank(const FusionDefinition& self, int64_t ndims, nvf_dtype dtype) {
  capi::Definition& definition = self.defining();
  requireDtype(dtype);
  capi::requireRank(ndims);
  const auto rank = static_cast<size_t>(ndims);
  return valueWithId(self, definition.defineTensor(std::vector<int64_t>(rank, -1),
                                                   std::vector<bool>(rank, false), dtype));
}

nb::object defineTensorLike(const FusionDefinition& self, const std::vector<int64_t>& sizes,
                            const std::vector<int64_t>& strides, nvf_dtype dtype) {
  if (sizes.size() != strides.size()) {
    userError("define_tensor: sizes has ", sizes.size(), " entries, but strides has ",
              strides.size());
  }
  requireDtype(dtype);
  return valueWithId(self, self.defining().defineTensorLike(sizes, strides, dtype));
}

void addOutput(const FusionDefinition& self, nb::handle output) {
  const DefinitionPtr& definition = self.fusion->defining();
  const nvf_argument given = Arguments(definition, "add_output").convert(output);
  if (given.kind != NVF_ARG_VALUE) {
    throw nb::type_error("add_output: an output is a tensor or a scalar of the fusion");
  }
  definition->addOutput(given.integer);
}

void bindFusion(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<FrontendFusion>(module, "Fusion",
                             "A fusion: defined once, executed with any inputs that fit.")
      .def(nb::new_([] { return std::make_shared<FrontendFusion>(); }),
           "A new one, to be defined with FusionDefinition.")
      .def(nb::new_([](int64_t id) { return std::make_shared<FrontendFusion>(id); }), "id"_a,
           "The one that has this id in this process; a UserError names the known ids.")
      .def("defined", &FrontendFusion::defined, "Whether it is defined and can be executed.")
      .def("execute", &FrontendFusion::execute, "inputs"_a,
           "Executes it on tensors (PyTorch's, NumPy's, or any with __dlpack__) and numbers, in "
           "the order in which its inputs were defined. Gives the list of its outputs, tensors of "
           "the inputs' framework. Inputs that do not fit are a UserError.")
      .def("id", &FrontendFusion::id,
           "Its id: Fusion(id) finds it again. Definitions count from 0; the same definition "
           "entered again has the same id.")
      .def(
          "print", [](const FrontendFusion& self) { nb::print(self.ir().c_str()); },
          "Prints its intermediate representation.")
      .def("definition", &FrontendFusion::definition, "The definition as a Python function.")
      .def("kernels", &FrontendFusion::kernels, "Text of the kernels that ran last.")
      .def("explain", &FrontendFusion::explain, "html"_a.none() = nb::none(),
           "inputs"_a.none() = nb::none(),
           "Text about the last call: the definition, how it was cut into kernels, each one's "
           "scheduler with its parameters, why no scheduler took more, and the kernels. `html`: a "
           "path, to which a page is written as well, with the fusion as a picture, each kernel "
           "beside the loops that it came from, and bytes, milliseconds and fraction of a copy's "
           "speed, measured with `inputs` or, without them, with others of the last call's sizes. "
           "A UserError if nothing was executed yet.");
}

}  // namespace

void bindFrontend(nb::module_& module) {
  using namespace nb::literals;
  bindValue<FrontendTensor>(module, "Tensor", "A tensor of a fusion.");
  bindValue<FrontendScalar>(module, "Scalar", "A scalar of a fusion.");
  bindFusion(module);
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
      .def("define_tensor", &defineTensorByRank, "ndims"_a, "dtype"_a = NVF_FLOAT,
           "An input tensor by its number of axes: symbolic sizes, no contiguity.")
      .def("define_tensor", &defineTensorBySizes, "symbolic_sizes"_a, "contiguous"_a,
           "dtype"_a = NVF_FLOAT,
           "An input tensor by symbolic sizes (-1, or 1 for a broadcast axis) and whether each "
           "axis is contiguous with the one to its right.")
      .def("define_tensor", &defineTensorLike, "sizes"_a, "strides"_a, "dtype"_a = NVF_FLOAT,
           "An input tensor like one of these sizes and strides: sizes become symbolic, 1 stays.")
      .def(
          "define_scalar",
          [](const FusionDefinition& self, nvf_dtype dtype) {
            requireDtype(dtype);
            return valueWithId(self, self.defining().defineScalar(dtype));
          },
          "dtype"_a = NVF_DOUBLE, "An input scalar.")
      .def(
          "define_constant",
          [](const FusionDefinition& self, nb::handle value) {
            const PolymorphicValue number = numberOf(value, "define_constant");
            return valueWithId(self, self.defining().defineConstant(number));
          },
          "value"_a, "A constant of type Bool, Int, Double or ComplexDouble, as the value is.")
      .def("add_output", &addOutput, "output"_a,
           "Makes a tensor or a scalar an output; a scalar comes out as a tensor without axes.");
}

}  // namespace nvfuser::python
