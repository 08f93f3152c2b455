#include <ops/table/reference_math.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <ops/table/pointwise.h>

namespace nvfuser {

namespace {

/// A start within a few percent (Winitzki), for 0 < y < 1 given as tail = 1 - y.
double roughInverseErf(double y, double tail) {
  constexpr double kA = 0.147;
  double log_term = std::log(tail * (1.0 + y));
  double half = 2.0 / (std::numbers::pi * kA) + log_term / 2;
  return std::sqrt(std::sqrt(half * half - log_term / kA) - half);
}

/// x with erfc(x) == tail, where erfc is so small that it has few digits, tail < 1e-290: its
/// logarithm's series in t = 1 / 2x², -x² - log(x √π) + log(1 - t (1 - 3 t (1 - 5 t …))), solved
/// for x.
double inverseErfcFar(double tail) {
  const double log_tail = std::log(tail);
  double x = std::sqrt(-log_tail);
  for (int step = 0; step < 7; ++step) {
    const double t = 0.5 / (x * x);
    double series = 1;
    for (int odd = 13; odd >= 1; odd -= 2) {
      series = 1 - odd * t * series;
    }
    x = std::sqrt(std::log(series) - std::log(x * 1.77245385090551602730) - log_tail);
  }
  return x;
}

/// x with erfc(x) == tail for 0 < tail <= 1. Newton's steps on log(erfc), which is nearly a
/// parabola and so converges also far out, where erfc is tiny.
double inverseErfcUpper(double tail) {
  if (tail < 1e-290) {
    return inverseErfcFar(tail);
  }
  double x = roughInverseErf(1.0 - tail, tail);
  for (int step = 0; step < 6; ++step) {
    double value = std::erfc(x);
    if (value == 0) {
      x *= 0.99;
      continue;
    }
    double slope = -2.0 * std::numbers::inv_sqrtpi * std::exp(-x * x);
    x -= value * std::log(value / tail) / slope;
  }
  return x;
}

}  // namespace

double inverseErf(double y) {
  if (std::isnan(y) || y < -1 || y > 1) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (y == 1 || y == -1) {
    return y * std::numeric_limits<double>::infinity();
  }
  double size = std::fabs(y);
  if (size > 0.5) {
    return std::copysign(inverseErfcUpper(1.0 - size), y);
  }
  double x = y * (std::sqrt(std::numbers::pi) / 2);
  for (int step = 0; step < 6; ++step) {
    x -= (std::erf(x) - y) / (2.0 * std::numbers::inv_sqrtpi * std::exp(-x * x));
  }
  return x;
}

double inverseErfc(double y) {
  if (std::isnan(y) || y < 0 || y > 2) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (y == 0) {
    return std::numeric_limits<double>::infinity();
  }
  if (y == 2) {
    return -std::numeric_limits<double>::infinity();
  }
  if (y < 0.5) {
    return inverseErfcUpper(y);
  }
  return inverseErf(1.0 - y);
}

bool isLess(int64_t a, int64_t b, DataType t) {
  return isUnsignedIntegralType(t) ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

bool isPositive(int64_t a, DataType t) { return isLess(0, a, t); }

int64_t truncDiv(int64_t a, int64_t b, DataType t) {
  if (b == 0) {
    return 0;
  }
  if (isUnsignedIntegralType(t)) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  }
  return b == -1 ? wrapNeg(a) : a / b;
}

int64_t truncMod(int64_t a, int64_t b, DataType t) {
  return b == 0 ? 0 : wrapSub(a, wrapMul(truncDiv(a, b, t), b));
}

int64_t floorMod(int64_t a, int64_t b, DataType t) {
  int64_t rest = truncMod(a, b, t);
  return rest != 0 && !isUnsignedIntegralType(t) && (rest < 0) != (b < 0) ? rest + b : rest;
}

double floorMod(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t ceilDivide(int64_t a, int64_t b, DataType t) {
  int64_t rest = truncMod(a, b, t);
  bool up = isUnsignedIntegralType(t) ? rest != 0 : rest != 0 && (rest < 0) == (b < 0);
  return wrapAdd(truncDiv(a, b, t), up ? 1 : 0);
}

int64_t powInteger(int64_t base, int64_t exponent, DataType t) {
  if (!isUnsignedIntegralType(t) && exponent < 0) {
    if (base == 1) {
      return 1;
    }
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  int64_t result = 1;
  for (auto left = static_cast<uint64_t>(exponent); left != 0; left /= 2) {
    if (left % 2 == 1) {
      result = wrapMul(result, base);
    }
    base = wrapMul(base, base);
  }
  return result;
}

int64_t greatestCommonDivisor(int64_t a, int64_t b, DataType t) {
  bool is_signed = !isUnsignedIntegralType(t);
  auto x = static_cast<uint64_t>(is_signed && a < 0 ? wrapNeg(a) : a);
  auto y = static_cast<uint64_t>(is_signed && b < 0 ? wrapNeg(b) : b);
  while (y != 0) {
    uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return static_cast<int64_t>(x);
}

int64_t shiftLeft(int64_t a, int64_t by, DataType t) {
  if (by < 0 || by >= integerBits(t)) {
    return 0;
  }
  return static_cast<int64_t>(static_cast<uint64_t>(a) << by);
}

int64_t shiftRight(int64_t a, int64_t by, DataType t) {
  if (isUnsignedIntegralType(t)) {
    return shiftRightLogical(a, by, t);
  }
  return a >> (by < 0 || by >= integerBits(t) ? 63 : by);
}

int64_t shiftRightLogical(int64_t a, int64_t by, DataType t) {
  int bits = integerBits(t);
  if (by < 0 || by >= bits) {
    return 0;
  }
  uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return static_cast<int64_t>((static_cast<uint64_t>(a) & mask) >> by);
}

int64_t nextPowerOfTwo(int64_t a, DataType t) {
  if (!isPositive(a, t)) {
    return 1;
  }
  uint64_t power = 1;
  while (power != 0 && power < static_cast<uint64_t>(a)) {
    power *= 2;
  }
  return static_cast<int64_t>(power);
}

double nextAfter(double a, double b, DataType t) {
  if (t == DataType::Double) {
    return std::nextafter(a, b);
  }
  return std::nextafter(static_cast<float>(a), static_cast<float>(b));
}

double roundedQuotient(double a, double b, DataType t) {
  return t == DataType::Double ? a / b : static_cast<float>(a / b);
}

std::complex<double> logOnePlus(std::complex<double> z) {
  if (!(std::norm(z) < 0.25)) {
    return std::log(1.0 + z);
  }
  const double square = (2.0 + z.real()) * z.real() + z.imag() * z.imag();
  return {std::log1p(square) / 2, std::atan2(z.imag(), 1.0 + z.real())};
}

std::complex<double> product(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

std::complex<double> quotient(std::complex<double> a, std::complex<double> b) {
  const double x = std::fabs(b.real());
  const double y = std::fabs(b.imag());
  if (x == 0 && y == 0) {
    return {a.real() / x, a.imag() / y};
  }
  // (1 over the divisor may be beyond all numbers where the quotient is not.)
  const double size = x >= y ? x : y;
  const double up = size < 1e-150 ? 0x1p200 : size > 1e150 ? 0x1p-200 : 1;
  a = {a.real() * up, a.imag() * up};
  b = {b.real() * up, b.imag() * up};
  if (x >= y) {
    const double ratio = b.imag() / b.real();
    const double scale = 1.0 / (b.real() + b.imag() * ratio);
    return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
  }
  const double ratio = b.real() / b.imag();
  const double scale = 1.0 / (b.imag() + b.real() * ratio);
  return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
}

std::complex<double> complexSigmoid(std::complex<double> z) {
  if (z.real() < 0) {
    const std::complex<double> e = std::exp(z);
    return quotient(e, 1.0 + e);
  }
  return quotient(1.0, 1.0 + std::exp(-z));
}

double lerpReference(double start, double end, double weight, DataType t) {
  double span = end - start;
  if (t != DataType::Double && std::isinf(static_cast<float>(span))) {
    span = static_cast<float>(span);
  }
  return std::fabs(weight) < 0.5 ? start + weight * span : end - span * (1.0 - weight);
}

std::complex<double> lerpReference(std::complex<double> start, std::complex<double> end,
                                   std::complex<double> weight) {
  std::complex<double> span = end - start;
  return std::abs(weight) < 0.5 ? start + product(weight, span) : end - product(span, 1.0 - weight);
}

}  // namespace nvfuser
