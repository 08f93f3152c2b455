#include <capi/definition_text.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <support/decimal.h>

namespace nvfuser::capi {

namespace {

/// Six digits where they tell the number, else as many as it takes.
std::string numberText(double value) {
  if (std::isnan(value)) {
    return "float('nan')";
  }
  if (std::isinf(value)) {
    return value > 0 ? "float('inf')" : "float('-inf')";
  }
  char digits[64];
  for (const char* format : {"%#.6g", "%.17g"}) {
    std::snprintf(digits, sizeof digits, format, value);
    if (std::strtod(digits, nullptr) == value) {
      break;
    }
  }
  std::string out = withPoint(digits);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string complexText(double real, double imag) {
  return text("complex(", numberText(real), ", ", numberText(imag), ")");
}

std::string boolText(bool value) { return value ? "True" : "False"; }

std::string argumentText(const nvf_argument& argument, const Definition& definition) {
  switch (argument.kind) {
    case NVF_ARG_VALUE:
      return valueText(definition, argument.integer);
    case NVF_ARG_BOOL:
      return boolText(argument.integer != 0);
    case NVF_ARG_INT:
      return text(argument.integer);
    case NVF_ARG_DOUBLE:
      return numberText(argument.real);
    case NVF_ARG_COMPLEX:
      return complexText(argument.real, argument.imag);
    case NVF_ARG_DTYPE:
      return dtypeText(dtypeOf(argument.integer));
    case NVF_ARG_LIST: {
      const std::span<const nvf_argument> items(argument.items,
                                                static_cast<size_t>(argument.count));
      return text(
          "[", join(items, ", ", [&](const auto& i) { return argumentText(i, definition); }), "]");
    }
    default:
      return "None";
  }
}

}  // namespace

std::string valueText(const Definition& definition, int64_t id) {
  return text(definition.valueOf(id)->isA<TensorView>() ? "T" : "S", id);
}

std::string dtypeText(DataType dtype) {
  return text("DataType.", std::string_view(nvf_dtype_name(codeOf(dtype))));
}

std::string constantText(const PolymorphicValue& value) {
  if (value.is<bool>()) {
    return boolText(value.as<bool>());
  }
  if (value.is<int64_t>()) {
    return text(value.as<int64_t>());
  }
  if (value.is<double>()) {
    return numberText(value.as<double>());
  }
  const auto number = value.as<std::complex<double>>();
  return complexText(number.real(), number.imag());
}

std::string defineTensorText(std::span<const int64_t> sizes, const std::vector<bool>& contiguous,
                             DataType dtype) {
  return text("fd.define_tensor(symbolic_sizes=[", join(sizes, ", "), "], contiguous=[",
              join(contiguous, ", ", [](bool flag) { return boolText(flag); }),
              "], dtype=", dtypeText(dtype), ")");
}

std::string defineTensorText(const InputTensor& tensor) {
  auto flag = [](const std::optional<bool>& contiguous) {
    return contiguous ? boolText(*contiguous) : std::string("None");
  };
  return text("fd.define_tensor(shape=[", join(tensor.shape, ", "), "], contiguity=[",
              join(tensor.contiguity, ", ", flag), "], dtype=", dtypeText(tensor.dtype),
              ", is_cpu=", boolText(tensor.is_cpu),
              tensor.stride_order.empty()
                  ? std::string()
                  : text(", stride_order=[", join(tensor.stride_order, ", "), "]"),
              ")");
}

std::string defineScalarText(DataType dtype) {
  return text("fd.define_scalar(dtype=", dtypeText(dtype), ")");
}

std::string operationText(const Operation& operation, const Call& call,
                          std::span<const int64_t> ids, const Definition& definition) {
  const std::string names = join(
      ids, ", ", [&](int64_t id) { return id < 0 ? std::string("_") : valueText(definition, id); });
  // An operation with a list of results gives a list even if it has one entry.
  const bool one_of_list = ids.size() == 1 && operation.result.starts_with("list");
  std::string out = text(one_of_list ? "[" : "", names, one_of_list ? "]" : "", " = fd.ops.",
                         operation.name, "(");
  bool by_position = true;
  bool first = true;
  for (size_t i = 0; i < call.size(); ++i) {
    by_position = by_position && operation.parameters[i].is_operand && call.isGiven(i);
    if (!call.isGiven(i)) {
      continue;
    }
    append(out, text(first ? "" : ", ", by_position ? "" : operation.parameters[i].name,
                     by_position ? "" : "=", argumentText(call.argument(i), definition)));
    first = false;
  }
  return out + ")";
}

std::string definitionText(std::string_view function, const std::vector<std::string>& statements) {
  std::string out = text("def ", function, "(fd : FusionDefinition) -> None :\n");
  for (const std::string& statement : statements) {
    append(out, text("    ", statement, "\n"));
  }
  return out;
}

}  // namespace nvfuser::capi
