/// Errors of rounding, as the reference's disturbances have them: how large one is, and which way
/// an element goes.
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>

#include <evaluator/array.h>

namespace nvfuser::reference {

/// Half a unit in the last place of 1, where results of `dtype` are computed.
inline double roundoff(DataType dtype) {
  return getTypeFromComplexType(dtype) == DataType::Double ? 0x1p-53 : 0x1p-24;
}

/// The greatest number where results of `dtype` are computed.
inline double greatestOf(DataType dtype) {
  return getTypeFromComplexType(dtype) == DataType::Double ? std::numeric_limits<double>::max()
                                                           : std::numeric_limits<float>::max();
}

/// The least one above zero that is not subnormal: below, a device may have zero.
inline double leastOf(DataType dtype) {
  return getTypeFromComplexType(dtype) == DataType::Double ? std::numeric_limits<double>::min()
                                                           : std::numeric_limits<float>::min();
}

/// Numbers of at most a Float's digits are results of exact arithmetic, mostly: whole numbers,
/// truth values, zeros.
template <std::floating_point T>
bool isShort(T x) {
  if (!std::isfinite(x)) {
    return true;
  }
  int exponent = 0;
  const T digits = std::frexp(x, &exponent) * T(0x1p24);
  return digits == std::trunc(digits);
}

template <typename T>
bool isShort(const std::complex<T>& z) {
  return isShort(z.real()) && isShort(z.imag());
}

inline uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
/// −1 or 1, the same for the same words. Seeds that differ in their highest bit are opposites.
inline double direction(uint64_t seed, uint64_t i) {
  const uint64_t opposite = seed >> 63;
  const uint64_t word = mix((seed & ~(uint64_t{1} << 63)) * 0x9e3779b97f4a7c15ull + i);
  return ((word ^ opposite) & 1) != 0 ? 1 : -1;
}

/// Of four seeds, two pairs of opposites, those of the second: what they move is rounded.
inline bool isSecondPair(uint64_t seed) { return ((seed >> 32) & 1) != 0; }

/// x ± amount, in the direction for element i. Both parts of a complex number move. No operation
/// says which sign its NaN has.
inline double moved(double x, double amount, uint64_t seed, uint64_t i) {
  return std::isnan(x) ? std::copysign(x, direction(seed, i)) : x + direction(seed, i) * amount;
}
inline Complex moved(Complex z, double amount, uint64_t seed, uint64_t i) {
  return {moved(z.real(), amount, seed, 2 * i), moved(z.imag(), amount, seed, 2 * i + 1)};
}

inline double finiteOrZero(double x) { return std::isfinite(x) ? x : 0; }

}  // namespace nvfuser::reference
