/// The operations that scans and scatters combine elements by.
#pragma once

#include <cmath>
#include <complex>

#include <external/elements.h>
#include <ir/op_types.h>

namespace nvfuser::external {

/// What elements `T` are combined in: Double for reals (one rounding at the end, also for sums of
/// Float), 64 bits for integers (they wrap, signs kept), complex<double>.
template <typename T>
struct Accumulator {
  using Type = std::conditional_t<
      isReal<T>, double,
      std::conditional_t<isInteger<T>, std::conditional_t<std::is_unsigned_v<T>, uint64_t, int64_t>,
                         std::complex<double>>>;
};
template <typename T>
using Wide = typename Accumulator<T>::Type;

template <typename T>
Wide<T> widened(T x) {
  if constexpr (isReal<T>) {
    return static_cast<double>(numberOf(x));
  } else {
    return static_cast<Wide<T>>(x);
  }
}

template <typename W>
W combine(BinaryOpType type, W a, W b) {
  using enum BinaryOpType;
  if constexpr (std::is_integral_v<W>) {
    switch (type) {
      case Add:
        return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      case Mul:
        return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      case Max:
      case FMax:
        return a < b ? b : a;
      default:
        return b < a ? b : a;
    }
  } else if constexpr (std::is_floating_point_v<W>) {
    switch (type) {
      case Add:
        return a + b;
      case Mul:
        return a * b;
      case Max:
        return std::isnan(a) || a > b ? a : b;
      case Min:
        return std::isnan(a) || a < b ? a : b;
      case FMax:
        return std::isnan(b) || a > b ? a : b;
      default:
        return std::isnan(b) || a < b ? a : b;
    }
  } else {
    return type == Add ? a + b
                       : W(a.real() * b.real() - a.imag() * b.imag(),
                           a.real() * b.imag() + a.imag() * b.real());
  }
}

}  // namespace nvfuser::external
