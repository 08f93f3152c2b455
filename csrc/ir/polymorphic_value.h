/// The value of a scalar: nothing, bool, int64, double or complex<double>.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <string>
#include <variant>

#include <ir/type.h>
#include <support/error.h>

namespace nvfuser {

class PolymorphicValue {
 public:
  PolymorphicValue() = default;
  PolymorphicValue(std::monostate) {}
  template <std::same_as<bool> B>
  PolymorphicValue(B value) : value_(value) {}
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  PolymorphicValue(I value) : value_(static_cast<int64_t>(value)) {}
  template <std::floating_point F>
  PolymorphicValue(F value) : value_(static_cast<double>(value)) {}
  template <std::floating_point F>
  PolymorphicValue(std::complex<F> value) : value_(std::complex<double>(value)) {}

  bool hasValue() const { return !std::holds_alternative<std::monostate>(value_); }
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  /// The value as `T` (bool, an integer, a floating-point or complex type), converted as C++ would.
  /// Complex to real drops the imaginary part. Throws `InternalError` if there is none.
  template <typename T>
  T as() const {
    if (auto* b = std::get_if<bool>(&value_)) {
      return convert<T>(*b);
    }
    if (auto* i = std::get_if<int64_t>(&value_)) {
      return convert<T>(*i);
    }
    if (auto* d = std::get_if<double>(&value_)) {
      return convert<T>(*d);
    }
    if (auto* c = std::get_if<std::complex<double>>(&value_)) {
      if constexpr (std::same_as<T, std::complex<double>>) {
        return *c;
      } else {
        return convert<T>(c->real());
      }
    }
    throw InternalError("a scalar without a value was read");
  }
  template <typename T>
  explicit operator T() const {
    return as<T>();
  }

  /// Bool, Int, Double or ComplexDouble; Null without a value.
  DataType dtype() const;
  std::string toString() const;

  /// Equality of numbers across kinds (2 == 2.0); NaN equals NaN, so that constants can be
  /// compared.
  friend bool operator==(const PolymorphicValue& a, const PolymorphicValue& b);

 private:
  template <typename T, typename From>
  static T convert(From from) {
    if constexpr (std::same_as<T, std::complex<double>>) {
      return {static_cast<double>(from), 0.0};
    } else {
      return static_cast<T>(from);
    }
  }
  std::variant<std::monostate, bool, int64_t, double, std::complex<double>> value_;
};

/// A real number as an integer `dtype`: without its fraction; beyond the range the nearest end
/// (types below 32 bits: that of int32, of which they keep the low bits), NaN 0. UInt64 by its
/// bits.
int64_t cutToInteger(double value, DataType dtype);

/// `value` as it would be stored in `dtype` (an integer wraps, a real number is cut as above, a
/// float is rounded to Float where `dtype` is Float or narrower is left to the kernel).
PolymorphicValue castToDtype(const PolymorphicValue& value, DataType dtype);

}  // namespace nvfuser
