#include <ir/polymorphic_value.h>

#include <cmath>
#include <cstdio>

namespace nvfuser {

DataType PolymorphicValue::dtype() const {
  switch (value_.index()) {
    case 1:
      return DataType::Bool;
    case 2:
      return DataType::Int;
    case 3:
      return DataType::Double;
    case 4:
      return DataType::ComplexDouble;
    default:
      return DataType::Null;
  }
}

std::string PolymorphicValue::toString() const {
  if (is<bool>()) {
    return as<bool>() ? "true" : "false";
  }
  if (is<int64_t>()) {
    return text(as<int64_t>());
  }
  if (is<double>()) {
    double value = as<double>();
    std::string digits = text(value);
    // A double that happens to be whole still reads as one.
    if (std::isfinite(value) && digits.find_first_of(".e") == std::string::npos) {
      digits += ".0";
    }
    return digits;
  }
  if (is<std::complex<double>>()) {
    auto c = as<std::complex<double>>();
    return text("(", c.real(), ",", c.imag(), ")");
  }
  return "none";
}

bool operator==(const PolymorphicValue& a, const PolymorphicValue& b) {
  if (!a.hasValue() || !b.hasValue()) {
    return a.hasValue() == b.hasValue();
  }
  if (a.is<int64_t>() && b.is<int64_t>()) {
    return a.as<int64_t>() == b.as<int64_t>();
  }
  auto x = a.as<std::complex<double>>();
  auto y = b.as<std::complex<double>>();
  auto same = [](double p, double q) { return p == q || (std::isnan(p) && std::isnan(q)); };
  return same(x.real(), y.real()) && same(x.imag(), y.imag());
}

int64_t cutToInteger(double value, DataType dtype) {
  if (std::isnan(value)) {
    return 0;
  }
  const int64_t width = dataTypeSizeBit(dtype);
  const bool is_unsigned = isUnsignedIntegralType(dtype) && width >= 32;
  const int bits = static_cast<int>(width < 32 ? 32 : width) - (is_unsigned ? 0 : 1);
  const double end = std::ldexp(1.0, bits);
  const double least = is_unsigned ? 0 : -end;
  int64_t cut = 0;
  if (value >= end) {
    cut = static_cast<int64_t>(~uint64_t{0} >> (64 - bits));
  } else if (value <= least) {
    cut = is_unsigned ? 0 : -static_cast<int64_t>(~uint64_t{0} >> (64 - bits)) - 1;
  } else {
    cut = value >= 0x1p63 ? static_cast<int64_t>(static_cast<uint64_t>(value))
                          : static_cast<int64_t>(value);
  }
  const int unused = width < 32 ? 64 - static_cast<int>(width) : 0;
  const uint64_t high = static_cast<uint64_t>(cut) << unused;
  return isUnsignedIntegralType(dtype) ? static_cast<int64_t>(high >> unused)
                                       : static_cast<int64_t>(high) >> unused;
}

PolymorphicValue castToDtype(const PolymorphicValue& value, DataType dtype) {
  if (!value.hasValue()) {
    return value;
  }
  if (isBooleanType(dtype)) {
    if (value.is<std::complex<double>>()) {
      return value.as<std::complex<double>>() != std::complex<double>();
    }
    return value.is<double>() ? value.as<double>() != 0.0 : value.as<int64_t>() != 0;
  }
  if (isComplexType(dtype)) {
    return value.as<std::complex<double>>();
  }
  if (dtype == DataType::Float) {
    return static_cast<double>(static_cast<float>(value.as<double>()));
  }
  if (isFloatingPointType(dtype)) {
    return value.as<double>();
  }
  if (value.is<double>() || value.is<std::complex<double>>()) {
    return cutToInteger(value.as<double>(), dtype);
  }
  switch (dtype.type) {
    case PrimDataType::Char:
      return static_cast<int8_t>(value.as<int64_t>());
    case PrimDataType::Short:
      return static_cast<int16_t>(value.as<int64_t>());
    case PrimDataType::Int32:
      return static_cast<int32_t>(value.as<int64_t>());
    case PrimDataType::Byte:
      return static_cast<uint8_t>(value.as<int64_t>());
    case PrimDataType::UInt16:
      return static_cast<uint16_t>(value.as<int64_t>());
    case PrimDataType::UInt32:
      return static_cast<int64_t>(static_cast<uint32_t>(value.as<int64_t>()));
    default:
      return value.as<int64_t>();
  }
}

}  // namespace nvfuser
