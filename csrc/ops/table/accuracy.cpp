#include <ops/table/accuracy.h>

#include <cmath>

namespace nvfuser {

namespace {

/// CUDA's lgamma, below zero, is a difference of logarithms: log(π / |x · sin(πx)|) − lgamma(−x).
/// The programming guide's table of mathematical functions gives 6 units in the last place (Double:
/// 4) outside of the interval that holds the negative roots, and within it only says "larger". The
/// terms there are about as large as x is.
double termsOfLgamma(double x, DataType compute) {
  const bool is_double = compute == DataType::Double;
  const double from = is_double ? -11.0001 : -10.001;
  const double to = is_double ? -2.2637 : -2.264;
  return from < x && x < to ? std::fabs(x) : 0;
}

}  // namespace

RoundedTerms roundedTerms(UnaryOpType type) {
  return type == UnaryOpType::Lgamma ? termsOfLgamma : nullptr;
}

}  // namespace nvfuser
