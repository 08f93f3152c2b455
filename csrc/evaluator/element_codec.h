/// One element of any dtype as a number of the host, and back: exact, rounding to nearest even.
#pragma once

#include <complex>
#include <cstdint>

#include <ir/polymorphic_value.h>
#include <ir/type.h>

namespace nvfuser {

/// How the reference holds an element: floats as double, integers and Bool as int64 (UInt64 by its
/// bits), complex as complex<double>.
enum class HostNumber : uint8_t { Integer, Real, Complex };
HostNumber hostNumber(DataType dtype);

/// `value` as the nearest number of a floating-point `dtype` (ties to even, subnormals kept,
/// overflow to infinity; Float8_e4m3fn has no infinity: overflow gives NaN).
double roundToDtype(double value, DataType dtype);
std::complex<double> roundToDtype(std::complex<double> value, DataType dtype);
/// `value` modulo 2^bits in the dtype's own width and sign; Bool: whether it is nonzero.
int64_t wrapToDtype(int64_t value, DataType dtype);
/// A real number as an integer dtype, see `cutToInteger`. Bool: whether it is nonzero.
int64_t realToInteger(double value, DataType dtype);
/// An integer held for `dtype` as a real number (UInt64 is unsigned).
double integerToReal(int64_t value, DataType dtype);

/// Reads or writes one element at `at`, which need not be aligned. The dtype has to be of the
/// class.
double loadReal(const void* at, DataType dtype);
int64_t loadInteger(const void* at, DataType dtype);
std::complex<double> loadComplex(const void* at, DataType dtype);
void storeReal(void* at, DataType dtype, double value);
void storeInteger(void* at, DataType dtype, int64_t value);
void storeComplex(void* at, DataType dtype, std::complex<double> value);

/// The same for a number of any class, converted as a cast does.
PolymorphicValue loadElement(const void* at, DataType dtype);
void storeElement(void* at, DataType dtype, const PolymorphicValue& value);

}  // namespace nvfuser
