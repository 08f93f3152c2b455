/// What sums of many terms are held in until they are complete, and how large their terms are.
#pragma once

#include <array>
#include <complex>
#include <type_traits>

#include <evaluator/array.h>

namespace nvfuser::reference {

/// What sums of numbers of type `T` are held in.
template <typename T>
struct Wide {
  using Type = long double;
};
template <>
struct Wide<int64_t> {
  using Type = uint64_t;  // wraps
};
template <>
struct Wide<Complex> {
  using Type = std::complex<long double>;
};

/// A complete sum, as an array of `dtype` holds it.
template <typename T>
T narrow(typename Wide<T>::Type sum, DataType dtype) {
  if constexpr (std::is_same_v<T, Complex>) {
    return {static_cast<double>(sum.real()), static_cast<double>(sum.imag())};
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return wrapToDtype(static_cast<int64_t>(sum), dtype);
  } else {
    return static_cast<double>(sum);
  }
}

/// Squares of the elements' sizes, as real numbers.
inline Array squares(const Array& array) {
  const std::array<Array, 1> operand{array};
  if (array.kind() == HostNumber::Complex) {
    return mapElements<double, Complex>(operand, array.sizes, DataType::Double,
                                        [](Complex x) { return std::norm(x); });
  }
  return mapElements<double, double>(operand, array.sizes, DataType::Double,
                                     [](double x) { return x * x; });
}

}  // namespace nvfuser::reference
