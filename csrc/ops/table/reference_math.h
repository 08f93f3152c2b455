/// Functions of the reference column that the standard library lacks, and integer arithmetic that
/// wraps.
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>

#include <ir/type.h>

namespace nvfuser {

/// Inverse of erf and erfc to double precision; NaN outside their ranges, infinities at the ends.
double inverseErf(double y);
double inverseErfc(double y);

/// Arithmetic of two's complement that wraps at 64 bits.
constexpr int64_t wrapNeg(int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); }
constexpr int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
constexpr int64_t wrapSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
constexpr int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// Operations on int64 images of values of `t`: 64-bit unsigned values are their bit patterns.
bool isPositive(int64_t a, DataType t);
bool isLess(int64_t a, int64_t b, DataType t);
/// Division towards zero and its remainder; 0 for a divisor of 0.
int64_t truncDiv(int64_t a, int64_t b, DataType t);
int64_t truncMod(int64_t a, int64_t b, DataType t);
/// The remainder with the sign of the divisor.
int64_t floorMod(int64_t a, int64_t b, DataType t);
double floorMod(double a, double b);
int64_t ceilDivide(int64_t a, int64_t b, DataType t);
/// Powers by repeated squaring, wrapping; negative exponents give 0 except for bases 1 and -1.
int64_t powInteger(int64_t base, int64_t exponent, DataType t);
int64_t greatestCommonDivisor(int64_t a, int64_t b, DataType t);
/// Shifts by less than 0 or by the width and more move everything out.
int64_t shiftLeft(int64_t a, int64_t by, DataType t);
int64_t shiftRight(int64_t a, int64_t by, DataType t);
int64_t shiftRightLogical(int64_t a, int64_t by, DataType t);
/// Least power of two that is not below `a`; 1 for a < 1.
int64_t nextPowerOfTwo(int64_t a, DataType t);

/// The larger or smaller one, as IEEE 754-2019 has maximum and minimum: NaN if either is, and −0 is
/// less than +0. So their result hangs on no order.
template <std::floating_point T>
T maxNan(T a, T b) {
  return a > b || std::isnan(a) || (a == b && std::signbit(b)) ? a : b;
}
template <std::floating_point T>
T minNan(T a, T b) {
  return a < b || std::isnan(a) || (a == b && std::signbit(a)) ? a : b;
}
/// The same, but of a NaN and a number the number.
template <std::floating_point T>
T maxNumber(T a, T b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : maxNan(a, b);
}
template <std::floating_point T>
T minNumber(T a, T b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : minNan(a, b);
}
/// The number next to `a` towards `b` among those of Float (of Double if `t` is Double).
double nextAfter(double a, double b, DataType t);
/// a / b as a number of Float (of Double if `t` is Double), for functions that jump.
double roundedQuotient(double a, double b, DataType t);
/// log(1 + z), exact near zero.
std::complex<double> logOnePlus(std::complex<double> z);
/// Product without C's repair of infinities, quotient scaled by the larger part: PyTorch's.
std::complex<double> product(std::complex<double> a, std::complex<double> b);
std::complex<double> quotient(std::complex<double> a, std::complex<double> b);
/// 1 / (1 + exp(-z)), where exp(-z) may be beyond all numbers.
std::complex<double> complexSigmoid(std::complex<double> z);
/// PyTorch's formula, exact at both ends. `end − start` overflows as it does in `t`.
double lerpReference(double start, double end, double weight, DataType t);
std::complex<double> lerpReference(std::complex<double> start, std::complex<double> end,
                                   std::complex<double> weight);

}  // namespace nvfuser
