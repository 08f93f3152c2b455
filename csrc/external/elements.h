/// Elements in memory as numbers of the host, without a call for each.
#pragma once

#include <array>
#include <bit>
#include <complex>
#include <cstdint>
#include <type_traits>

#include <evaluator/element_codec.h>
#include <support/error.h>

namespace nvfuser::external {

struct HalfBits {
  uint16_t bits;
};
struct BFloat16Bits {
  uint16_t bits;
};
template <PrimDataType kDtype>
struct Float8Bits {
  uint8_t bits;
};
using Float8E4M3Bits = Float8Bits<PrimDataType::Float8_e4m3fn>;
using Float8E5M2Bits = Float8Bits<PrimDataType::Float8_e5m2>;

inline float numberOf(BFloat16Bits x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }
/// Exponent and fraction moved to where Float has them, then scaled by the difference of the
/// biases: right for subnormal numbers as well.
inline float numberOf(HalfBits x) {
  const uint32_t magnitude = uint32_t{x.bits} & 0x7fff;
  const uint32_t sign = (uint32_t{x.bits} & 0x8000) << 16;
  if (magnitude >= 0x7c00) {  // infinite or NaN
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  }
  const float number = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(number) | sign);
}
/// From a table of all 256.
template <PrimDataType kDtype>
float numberOf(Float8Bits<kDtype> x) {
  static const std::array<float, 256> numbers = [] {
    std::array<float, 256> all{};
    for (size_t i = 0; i < all.size(); ++i) {
      const auto bits = static_cast<uint8_t>(i);
      all[i] = static_cast<float>(loadReal(&bits, kDtype));
    }
    return all;
  }();
  return numbers[x.bits];
}
template <typename T>
T numberOf(T x) {
  return x;
}

/// Held by their bits.
template <typename T>
constexpr bool isReducedReal =
    std::is_same_v<T, HalfBits> || std::is_same_v<T, BFloat16Bits> ||
    std::is_same_v<T, Float8E4M3Bits> || std::is_same_v<T, Float8E5M2Bits>;

/// The dtype of elements that are held by their bits.
template <typename T>
constexpr PrimDataType kDtypeOf = PrimDataType::Null;
template <>
inline constexpr PrimDataType kDtypeOf<HalfBits> = PrimDataType::Half;
template <>
inline constexpr PrimDataType kDtypeOf<BFloat16Bits> = PrimDataType::BFloat16;
template <PrimDataType kDtype>
constexpr PrimDataType kDtypeOf<Float8Bits<kDtype>> = kDtype;

template <typename T>
constexpr bool isReal = std::is_floating_point_v<T> || isReducedReal<T>;
template <typename T>
constexpr bool isInteger = std::is_integral_v<T>;

/// Stores a sum or product: reals from double, rounded once; integers from 64 bits, cut off;
/// complex numbers from complex<double>.
template <typename T, typename Wide>
void storeNumber(T& at, Wide value, DataType dtype) {
  if constexpr (std::is_same_v<T, bool>) {
    at = value != 0;
  } else if constexpr (std::is_same_v<T, BFloat16Bits> && std::is_same_v<Wide, float>) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t to_even = bits + 0x7fff + (bits >> 16 & 1);
    at.bits = static_cast<uint16_t>(value == value ? to_even >> 16 : bits >> 16 | 0x40);
  } else if constexpr (isReducedReal<T>) {
    storeReal(&at, dtype, static_cast<double>(value));
  } else {
    at = static_cast<T>(value);
  }
}

/// Calls `body(T{})` with the type that elements of `dtype` have in memory. `what` names the
/// operation where there is none.
template <typename Body>
void withElementType(DataType dtype, const char* what, const Body& body) {
  switch (dtype.type) {
    case PrimDataType::Half:
      return body(HalfBits{});
    case PrimDataType::BFloat16:
      return body(BFloat16Bits{});
    case PrimDataType::Float8_e4m3fn:
      return body(Float8E4M3Bits{});
    case PrimDataType::Float8_e5m2:
      return body(Float8E5M2Bits{});
    case PrimDataType::Float:
      return body(float{});
    case PrimDataType::Double:
      return body(double{});
    case PrimDataType::ComplexFloat:
      return body(std::complex<float>{});
    case PrimDataType::ComplexDouble:
      return body(std::complex<double>{});
    case PrimDataType::Char:
      return body(int8_t{});
    case PrimDataType::Short:
      return body(int16_t{});
    case PrimDataType::Int32:
      return body(int32_t{});
    case PrimDataType::Int:
    case PrimDataType::Index:
      return body(int64_t{});
    case PrimDataType::Byte:
      return body(uint8_t{});
    case PrimDataType::UInt16:
      return body(uint16_t{});
    case PrimDataType::UInt32:
      return body(uint32_t{});
    case PrimDataType::UInt64:
      return body(uint64_t{});
    case PrimDataType::Bool:
      return body(bool{});
    default:
      userError(what, ": tensors of dtype ", dataTypeName(dtype),
                " are not supported; cast them to another dtype");
  }
}

}  // namespace nvfuser::external
