/// Functions of the reference column that the standard library lacks, and integer arithmetic that
/// wraps.
#pragma once

#include <complex>
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

/// The larger or smaller one; NaN if either is.
double maxNan(double a, double b);
double minNan(double a, double b);
/// The number next to `a` towards `b` among those of Float (of Double if `t` is Double).
double nextAfter(double a, double b, DataType t);
/// a / b as a number of Float (of Double if `t` is Double), for functions that jump.
double roundedQuotient(double a, double b, DataType t);
/// PyTorch's formula, exact at both ends. `end − start` overflows as it does in `t`.
double lerpReference(double start, double end, double weight, DataType t);
std::complex<double> lerpReference(std::complex<double> start, std::complex<double> end,
                                   std::complex<double> weight);

}  // namespace nvfuser
