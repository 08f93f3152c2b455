#include <capi/definition_text.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

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
  std::string out = digits;
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string complexText(double real, double imag) {
  return text("complex(", numberText(real), ", ", numberText(imag), ")");
}

std::string boolText(bool value) { return value ? "True" : "False"; }

std::string dtypeText(DataType dtype) {
  return text("DataType.", std::string_view(nvf_dtype_name(codeOf(dtype))));
}

std::string argumentText(const nvf_argument& argument, const std::vector<Val*>& values) {
  switch (argument.kind) {
    case NVF_ARG_VALUE:
      return valueText(values, argument.integer);
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
      return text("[", join(items, ", ", [&](const auto& i) { return argumentText(i, values); }),
                  "]");
    }
    default:
      return "None";
  }
}

}  // namespace

std::string valueText(const std::vector<Val*>& values, int64_t id) {
  return text(values.at(static_cast<size_t>(id))->isA<TensorView>() ? "T" : "S", id);
}

std::string defineTensorText(int64_t id, std::span<const int64_t> sizes,
                             const std::vector<bool>& contiguous, DataType dtype) {
  return text("T", id, " = fd.define_tensor(symbolic_sizes=[", join(sizes, ", "), "], contiguous=[",
              join(contiguous, ", ", [](bool flag) { return boolText(flag); }),
              "], dtype=", dtypeText(dtype), ")");
}

std::string defineScalarText(int64_t id, DataType dtype) {
  return text("S", id, " = fd.define_scalar(dtype=", dtypeText(dtype), ")");
}

std::string defineConstantText(int64_t id, const PolymorphicValue& value) {
  std::string shown;
  if (value.is<bool>()) {
    shown = boolText(value.as<bool>());
  } else if (value.is<int64_t>()) {
    shown = text(value.as<int64_t>());
  } else if (value.is<double>()) {
    shown = numberText(value.as<double>());
  } else {
    const auto number = value.as<std::complex<double>>();
    shown = complexText(number.real(), number.imag());
  }
  return text("S", id, " = fd.define_constant(", shown, ")");
}

std::string operationText(const Operation& operation, const Call& call,
                          std::span<const int64_t> ids) {
  const std::string names = join(ids, ", ", [&](int64_t id) {
    return id < 0 ? std::string("_") : valueText(call.values(), id);
  });
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
                     by_position ? "" : "=", argumentText(call.argument(i), call.values())));
    first = false;
  }
  return out + ")";
}

std::string definitionText(int64_t fusion_id, const std::vector<std::string>& statements) {
  std::string out = text("def nvfuser_fusion_id", fusion_id, "(fd : FusionDefinition) -> None :\n");
  for (const std::string& statement : statements) {
    append(out, text("    ", statement, "\n"));
  }
  return out;
}

}  // namespace nvfuser::capi
