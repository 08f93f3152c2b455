#include <evaluator/element_codec.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace nvfuser {

namespace {

/// A binary floating-point format below 32 bits.
struct NarrowFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  ///< otherwise the all-ones exponent holds numbers, and all ones is NaN

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint32_t magnitudeMask() const { return (1u << (exponent_bits + mantissa_bits)) - 1; }
  uint32_t infinityBits() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  uint32_t nanBits() const {
    return has_infinity ? infinityBits() | (1u << (mantissa_bits - 1)) : magnitudeMask();
  }
};

NarrowFormat narrowFormat(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Half:
      return {5, 10, true};
    case PrimDataType::BFloat16:
      return {8, 7, true};
    case PrimDataType::Float8_e5m2:
      return {5, 2, true};
    case PrimDataType::Float8_e4m3fn:
      return {4, 3, false};
    default:
      throwInternal("a dtype is no narrow float", std::source_location::current());
  }
}

uint32_t encodeNarrow(double value, const NarrowFormat& format) {
  const uint32_t sign =
      std::signbit(value) ? 1u << (format.exponent_bits + format.mantissa_bits) : 0u;
  if (std::isnan(value)) {
    return sign | format.nanBits();
  }
  if (value == 0.0) {
    return sign;
  }
  const uint32_t overflow = format.has_infinity ? format.infinityBits() : format.nanBits();
  if (std::isinf(value)) {
    return sign | overflow;
  }
  // |value| = mantissa · 2^exponent with the mantissa in units of the last place; below the
  // smallest normal number the unit stays that of the subnormals. A carry out of the mantissa runs
  // into the exponent by itself.
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent -= 1;  // 1 ≤ |value| / 2^exponent < 2
  const int smallest = 1 - format.bias();
  const int unit = (exponent < smallest ? smallest : exponent) - format.mantissa_bits;
  const double units = std::nearbyint(std::ldexp(std::fabs(value), -unit));
  const auto mantissa = static_cast<uint32_t>(units);
  const uint32_t biased =
      exponent < smallest ? 0u : static_cast<uint32_t>(exponent + format.bias() - 1);
  if (exponent > format.bias() + 1) {
    return sign | overflow;
  }
  const uint32_t bits = (biased << format.mantissa_bits) + mantissa;
  const uint32_t largest = format.has_infinity ? format.infinityBits() - 1 : format.nanBits() - 1;
  return sign | (bits > largest ? overflow : bits);
}

double decodeNarrow(uint32_t bits, const NarrowFormat& format) {
  const uint32_t magnitude = bits & format.magnitudeMask();
  const bool negative = (bits >> (format.exponent_bits + format.mantissa_bits)) != 0;
  double value = 0;
  if (format.has_infinity ? magnitude > format.infinityBits() : magnitude == format.nanBits()) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (format.has_infinity && magnitude == format.infinityBits()) {
    value = std::numeric_limits<double>::infinity();
  } else {
    const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
    const uint32_t fraction = magnitude & ((1u << format.mantissa_bits) - 1);
    const uint32_t hidden = exponent == 0 ? 0u : 1u << format.mantissa_bits;
    value = std::ldexp(static_cast<double>(fraction | hidden),
                       (exponent == 0 ? 1 : exponent) - format.bias() - format.mantissa_bits);
  }
  return negative ? -value : value;
}

template <typename T>
T load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void store(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

[[noreturn]] void wrongClass(DataType dtype) {
  throwInternal(
      text("an element of dtype ", dataTypeName(dtype), " was read as another class of number"),
      std::source_location::current());
}

}  // namespace

HostNumber hostNumber(DataType dtype) {
  if (isComplexType(dtype)) {
    return HostNumber::Complex;
  }
  return isFloatingPointType(dtype) ? HostNumber::Real : HostNumber::Integer;
}

double roundToDtype(double value, DataType dtype) {
  if (std::isnan(value)) {
    return value;  // its bits may tell something (`isUndetermined`)
  }
  switch (dtype.type) {
    case PrimDataType::Float:
    case PrimDataType::ComplexFloat:
      return static_cast<double>(static_cast<float>(value));
    case PrimDataType::Half:
    case PrimDataType::BFloat16:
    case PrimDataType::Float8_e4m3fn:
    case PrimDataType::Float8_e5m2: {
      const NarrowFormat format = narrowFormat(dtype);
      return decodeNarrow(encodeNarrow(value, format), format);
    }
    default:
      return value;
  }
}

std::complex<double> roundToDtype(std::complex<double> value, DataType dtype) {
  return {roundToDtype(value.real(), dtype), roundToDtype(value.imag(), dtype)};
}

int64_t wrapToDtype(int64_t value, DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Bool:
      return value != 0 ? 1 : 0;
    case PrimDataType::Char:
      return static_cast<int8_t>(value);
    case PrimDataType::Short:
      return static_cast<int16_t>(value);
    case PrimDataType::Int32:
      return static_cast<int32_t>(value);
    case PrimDataType::Byte:
      return static_cast<uint8_t>(value);
    case PrimDataType::UInt16:
      return static_cast<uint16_t>(value);
    case PrimDataType::UInt32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

int64_t realToInteger(double value, DataType dtype) {
  if (isBooleanType(dtype)) {
    return value != 0.0 ? 1 : 0;  // NaN is true
  }
  return cutToInteger(value, dtype);
}

double integerToReal(int64_t value, DataType dtype) {
  if (dtype == DataType::UInt64) {
    return static_cast<double>(static_cast<uint64_t>(value));
  }
  return static_cast<double>(value);
}

double loadReal(const void* at, DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Double:
      return load<double>(at);
    case PrimDataType::Float:
      return static_cast<double>(load<float>(at));
    case PrimDataType::Half:
    case PrimDataType::BFloat16:
      return decodeNarrow(load<uint16_t>(at), narrowFormat(dtype));
    case PrimDataType::Float8_e4m3fn:
    case PrimDataType::Float8_e5m2:
      return decodeNarrow(load<uint8_t>(at), narrowFormat(dtype));
    default:
      wrongClass(dtype);
  }
}

void storeReal(void* at, DataType dtype, double value) {
  switch (dtype.type) {
    case PrimDataType::Double:
      return store(at, value);
    case PrimDataType::Float:
      return store(at, static_cast<float>(value));
    case PrimDataType::Half:
    case PrimDataType::BFloat16:
      return store(at, static_cast<uint16_t>(encodeNarrow(value, narrowFormat(dtype))));
    case PrimDataType::Float8_e4m3fn:
    case PrimDataType::Float8_e5m2:
      return store(at, static_cast<uint8_t>(encodeNarrow(value, narrowFormat(dtype))));
    default:
      wrongClass(dtype);
  }
}

int64_t loadInteger(const void* at, DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Bool:
      return load<uint8_t>(at) != 0 ? 1 : 0;
    case PrimDataType::Char:
      return load<int8_t>(at);
    case PrimDataType::Short:
      return load<int16_t>(at);
    case PrimDataType::Int32:
      return load<int32_t>(at);
    case PrimDataType::Int:
    case PrimDataType::Index:
    case PrimDataType::UInt64:
      return load<int64_t>(at);
    case PrimDataType::Byte:
      return load<uint8_t>(at);
    case PrimDataType::UInt16:
      return load<uint16_t>(at);
    case PrimDataType::UInt32:
      return load<uint32_t>(at);
    default:
      wrongClass(dtype);
  }
}

void storeInteger(void* at, DataType dtype, int64_t value) {
  switch (dtype.type) {
    case PrimDataType::Bool:
      return store(at, static_cast<uint8_t>(value != 0));
    case PrimDataType::Char:
    case PrimDataType::Byte:
      return store(at, static_cast<uint8_t>(value));
    case PrimDataType::Short:
    case PrimDataType::UInt16:
      return store(at, static_cast<uint16_t>(value));
    case PrimDataType::Int32:
    case PrimDataType::UInt32:
      return store(at, static_cast<uint32_t>(value));
    case PrimDataType::Int:
    case PrimDataType::Index:
    case PrimDataType::UInt64:
      return store(at, value);
    default:
      wrongClass(dtype);
  }
}

std::complex<double> loadComplex(const void* at, DataType dtype) {
  if (dtype == DataType::ComplexFloat) {
    const auto value = load<std::complex<float>>(at);
    return {value.real(), value.imag()};
  }
  if (dtype == DataType::ComplexDouble) {
    return load<std::complex<double>>(at);
  }
  wrongClass(dtype);
}

void storeComplex(void* at, DataType dtype, std::complex<double> value) {
  if (dtype == DataType::ComplexFloat) {
    return store(at, std::complex<float>(static_cast<float>(value.real()),
                                         static_cast<float>(value.imag())));
  }
  if (dtype == DataType::ComplexDouble) {
    return store(at, value);
  }
  wrongClass(dtype);
}

PolymorphicValue loadElement(const void* at, DataType dtype) {
  switch (hostNumber(dtype)) {
    case HostNumber::Integer: {
      const int64_t value = loadInteger(at, dtype);
      return isBooleanType(dtype) ? PolymorphicValue(value != 0) : PolymorphicValue(value);
    }
    case HostNumber::Real:
      return loadReal(at, dtype);
    case HostNumber::Complex:
      return loadComplex(at, dtype);
  }
  wrongClass(dtype);
}

void storeElement(void* at, DataType dtype, const PolymorphicValue& value) {
  switch (hostNumber(dtype)) {
    case HostNumber::Integer:
      if (isBooleanType(dtype) && value.is<std::complex<double>>()) {
        const auto number = value.as<std::complex<double>>();
        return storeInteger(at, dtype, number.real() != 0.0 || number.imag() != 0.0);
      }
      if (value.is<bool>() || value.is<int64_t>()) {
        return storeInteger(at, dtype, wrapToDtype(value.as<int64_t>(), dtype));
      }
      return storeInteger(at, dtype, realToInteger(value.as<double>(), dtype));
    case HostNumber::Real:
      return storeReal(at, dtype, value.as<double>());
    case HostNumber::Complex:
      return storeComplex(at, dtype, value.as<std::complex<double>>());
  }
}

}  // namespace nvfuser
