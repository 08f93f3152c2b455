#include <codegen/literal_text.h>

#include <cmath>
#include <complex>

#include <ops/table/pointwise.h>

namespace nvfuser::codegen {

namespace {

/// `Real` is float or double. The shortest digits that read back as the same number.
template <typename Real>
std::string realText(Real value, bool* needs_basics) {
  const std::string_view type = sizeof(Real) == 4 ? "float" : "double";
  if (!std::isfinite(value)) {
    *needs_basics = true;
    if (std::isnan(value)) {
      return text("quietNan<", type, ">()");
    }
    return text(value < 0 ? "-" : "", "infinity<", type, ">()");
  }
  std::string digits = text(value);
  if (digits.find_first_of(".e") == std::string::npos) {
    digits += ".0";
  }
  if (sizeof(Real) == 4) {
    digits += "f";
  }
  return digits;
}

std::string integerText(int64_t value, DataType dtype, bool* needs_basics) {
  switch (dtype.type) {
    case PrimDataType::Int32:
      return value == INT32_MIN ? text("(", value + 1, " - 1)") : text(value);
    case PrimDataType::Int:
      return value == INT64_MIN ? text("(", value + 1, "ll - 1)") : text(value, "ll");
    case PrimDataType::UInt32:
      return text(static_cast<uint32_t>(value), "u");
    case PrimDataType::UInt64:
      return text(static_cast<uint64_t>(value), "ull");
    default:
      *needs_basics = true;
      return text(typeText(dtype), "(", value, ")");
  }
}

}  // namespace

std::string literalText(const PolymorphicValue& value, DataType dtype, bool* needs_basics) {
  check(value.hasValue(), "a constant has a value");
  if (isComplexType(dtype)) {
    const auto z = value.as<std::complex<double>>();
    const DataType part = getTypeFromComplexType(dtype);
    return text(typeText(dtype), "(", literalText(z.real(), part, needs_basics), ", ",
                literalText(z.imag(), part, needs_basics), ")");
  }
  if (isReducedPrecisionFloat(dtype)) {
    return text(typeText(dtype), "(", literalText(value, DataType::Float, needs_basics), ")");
  }
  if (dtype == DataType::Double) {
    return realText(value.as<double>(), needs_basics);
  }
  if (dtype == DataType::Float) {
    return realText(static_cast<float>(value.as<double>()), needs_basics);
  }
  const PolymorphicValue cut = castToDtype(value, dtype);
  if (isBooleanType(dtype)) {
    return cut.as<bool>() ? "true" : "false";
  }
  return integerText(cut.as<int64_t>(), dtype, needs_basics);
}

bool foldLiteral(const kir::Literal& literal, DataType dtype, PolymorphicValue* folded) {
  const DataType from = literal.dtype;
  if (from != dtype) {
    // Reduced precision rounds on the device; floats beyond an integer's range are its own affair,
    // too.
    if (isReducedPrecisionFloat(from) || isReducedPrecisionFloat(dtype)) {
      return false;
    }
    if (isIntegralType(dtype) && !isIntegralType(from) && !isBooleanType(from)) {
      return false;
    }
    if (isComplexType(from) && !isComplexType(dtype)) {
      return false;
    }
    // Unsigned numbers of 64 bits are kept as signed ones.
    if (from == DataType::UInt64 && !isIntegralType(dtype)) {
      return false;
    }
  }
  *folded = castToDtype(castToDtype(literal.value, from), dtype);
  return true;
}

}  // namespace nvfuser::codegen
