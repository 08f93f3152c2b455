#include "arguments.h"

#include "dtypes.h"
#include "frontend.h"
#include <capi/operation_notes.h>
#include <nanobind/stl/string.h>
#include <support/error.h>

namespace nvfuser::python {

const ValNode* valueOf(nb::handle object) {
  if (nb::isinstance<ValNode>(object)) {
    return nb::cast<const ValNode*>(object);
  }
  if (nb::isinstance<FrontendTensor>(object)) {
    return nb::cast<const FrontendTensor*>(object);
  }
  return nb::isinstance<FrontendScalar>(object) ? nb::cast<const FrontendScalar*>(object) : nullptr;
}

namespace {

bool isTensorLike(nb::handle object) { return nb::hasattr(object, "__dlpack__"); }

/// False if it is no number.
bool convertNumber(nb::handle object, nvf_argument& result, std::string_view what) {
  PyObject* raw = object.ptr();
  if (PyBool_Check(raw)) {
    result.kind = NVF_ARG_BOOL;
    result.integer = raw == Py_True ? 1 : 0;
  } else if (PyFloat_Check(raw)) {
    result.kind = NVF_ARG_DOUBLE;
    result.real = PyFloat_AsDouble(raw);
  } else if (PyComplex_Check(raw)) {
    result.kind = NVF_ARG_COMPLEX;
    result.real = PyComplex_RealAsDouble(raw);
    result.imag = PyComplex_ImagAsDouble(raw);
  } else if (PyIndex_Check(raw) && !isTensorLike(object)) {
    result.kind = NVF_ARG_INT;
    auto integer = nb::steal(PyNumber_Index(raw));
    result.integer = integer.is_valid() ? PyLong_AsLongLong(integer.ptr()) : -1;
    if (result.integer == -1 && PyErr_Occurred() != nullptr) {
      const nb::python_error failed;
      if (failed.matches(PyExc_OverflowError)) {
        userError(what, ": ", nb::cast<std::string>(nb::str(object)),
                  " is an integer beyond 64 bits; pass one between -2^63 and 2^63 - 1, or a float");
      }
      throw failed;
    }
  } else {
    return false;
  }
  return true;
}

}  // namespace

PolymorphicValue numberOf(nb::handle object, const char* what) {
  nvf_argument number{};
  if (!convertNumber(object, number, what)) {
    const std::string message =
        text(std::string_view(what), ": a constant is a bool, an int, a float or a complex, not a ",
             nb::cast<std::string>(object.type().attr("__name__")));
    throw nb::type_error(message.c_str());
  }
  switch (number.kind) {
    case NVF_ARG_BOOL:
      return PolymorphicValue(number.integer != 0);
    case NVF_ARG_INT:
      return PolymorphicValue(number.integer);
    case NVF_ARG_DOUBLE:
      return PolymorphicValue(number.real);
    default:
      return PolymorphicValue(std::complex<double>(number.real, number.imag));
  }
}

/// Values that no operation gave (an axis's extent) get a statement of their own when they are
/// first used.
int64_t Arguments::idOf(const ValNode& value) {
  if (value.owner != definition_) {
    throw UserError(text(operation_, ": argument ", *value.statement,
                         " belongs to another fusion than the one that is being defined; use the "
                         "values that this definition made"));
  }
  Val* val = value.val();
  if (const int64_t known = definition_->idOf(val); known >= 0) {
    return known;
  }
  const std::vector<Val*> values = definition_->values;  // `call` adds to it
  for (size_t id = 0; id < values.size(); ++id) {
    if (!values[id]->isA<TensorView>()) {
      continue;
    }
    const auto& logical = values[id]->as<TensorView>()->getLogicalDomain();
    for (size_t axis = 0; axis < logical.size(); ++axis) {
      if (logical[axis]->extent() == val || logical[axis]->expandedExtent() == val) {
        nvf_argument arguments[2] = {};
        arguments[0].kind = NVF_ARG_VALUE;
        arguments[0].integer = static_cast<int64_t>(id);
        arguments[1].kind = NVF_ARG_INT;
        arguments[1].integer = static_cast<int64_t>(axis);
        return definition_->call("size", arguments).front();
      }
    }
  }
  throw UserError(text(operation_, ": argument ", *val,
                       " is neither an input nor a result of an operation of this fusion"));
}

nvf_argument Arguments::convert(nb::handle object, const char* name) {
  nvf_argument result{};
  result.name = name;
  if (object.is_none()) {
    result.kind = NVF_ARG_NONE;
  } else if (const ValNode* value = valueOf(object)) {
    result.kind = NVF_ARG_VALUE;
    result.integer = idOf(*value);
  } else if (nb::isinstance<nvf_dtype>(object)) {
    requireDtype(nb::cast<nvf_dtype>(object));
    result.kind = NVF_ARG_DTYPE;
    result.integer = nb::cast<nvf_dtype>(object);
  } else if (convertNumber(object, result, operation_)) {
  } else if (PySequence_Check(object.ptr()) && !PyUnicode_Check(object.ptr()) &&
             !PyBytes_Check(object.ptr()) && !isTensorLike(object)) {
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
        text(operation_, ": a ", nb::cast<std::string>(object.type().attr("__name__")),
             " is no argument of operations; they take tensors and scalars of the fusion, numbers, "
             "DataTypes and lists of these");
    throw nb::type_error(message.c_str());
  }
  return result;
}

void Arguments::add(const nb::args& arguments, const nb::kwargs& named) {
  for (nb::handle argument : arguments) {
    add(argument);
  }
  for (auto [key, argument] : named) {
    const std::string& name = names_.emplace_back(nb::cast<std::string>(key));
    given_.push_back(convert(argument, name.c_str()));
  }
}

namespace {

nb::object callWith(const DefinitionPtr& definition, const capi::Operation& operation,
                    const Arguments& converted, WrapValue wrapOne) {
  const std::vector<int64_t> ids = definition->call(operation.name, converted.given());
  auto wrapId = [&](int64_t id) {
    return id < 0 ? nb::none() : wrapOne(definition, definition->valueOf(id));
  };
  const bool is_list = operation.result.starts_with("list");
  if (ids.size() == 1 && !is_list) {
    return wrapId(ids.front());
  }
  nb::list values;
  for (int64_t id : ids) {
    values.append(wrapId(id));
  }
  return is_list ? nb::object(values) : nb::object(nb::tuple(values));
}

}  // namespace

nb::object callOperation(const DefinitionPtr& definition, const capi::Operation& operation,
                         const nb::args& arguments, const nb::kwargs& named, WrapValue wrapOne) {
  Arguments converted(definition, operation.name);
  converted.add(arguments, named);
  return callWith(definition, operation, converted, wrapOne);
}

nb::object callOperation(const DefinitionPtr& definition, const capi::Operation& operation,
                         std::initializer_list<nb::handle> operands, WrapValue wrapOne) {
  Arguments converted(definition, operation.name);
  for (nb::handle operand : operands) {
    converted.add(operand);
  }
  return callWith(definition, operation, converted, wrapOne);
}

namespace {

std::string replaced(std::string in, std::string_view from, std::string_view to) {
  for (size_t at = in.find(from); at != std::string::npos; at = in.find(from, at + to.size())) {
    in.replace(at, from.size(), to);
  }
  return in;
}

/// "(var, mean)" has two results.
bool hasNamedResults(const capi::Operation& operation) { return operation.result[0] == '('; }

}  // namespace

std::string pythonSignature(const capi::Operation& operation, bool direct) {
  const std::string signature = operation.signature();
  const size_t open = signature.find('(') + 1;
  const size_t arrow = signature.rfind(" -> ");
  std::string out = "def " + signature.substr(0, open);
  if (!direct) {
    append(out, signature[open] == ')' ? "self" : "self, ");
  }
  append(out, signature.substr(open, arrow - open));
  std::string result = operation.result;
  if (hasNamedResults(operation)) {
    result = "tuple[Tensor";
    for (char c : operation.result) {
      append(result, c == ',' ? ", Tensor" : "");
    }
    append(result, "]");
  }
  out = text(out, " -> ", result);
  return direct ? replaced(replaced(out, "Tensor", "TensorView"), "Scalar", "Val") : out;
}

std::string pythonDoc(const capi::Operation& operation) {
  const capi::OperationNotes notes = capi::notesOf(operation.name);
  std::string out = operation.doc;
  if (hasNamedResults(operation)) {
    append(out, text(" Gives ", operation.result, "."));
  }
  append(out, text("\n\nShapes: ", notes.shapes, ".\nDtypes: ", notes.dtypes, "."));
  append(out, text("\nRaises: TypeError for a wrong number or kind of arguments",
                   notes.errors == "none" ? std::string() : text("; UserError for ", notes.errors),
                   "."));
  return out;
}

}  // namespace nvfuser::python
