#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include <evaluator/element_codec.h>

namespace nvfuser {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

uint32_t encoded(DataType dtype, double value) {
  uint32_t bits = 0;
  storeReal(&bits, dtype, value);
  return bits;
}

double decoded(DataType dtype, uint32_t bits) { return loadReal(&bits, dtype); }

TEST_CASE("every bit pattern of the narrow floats survives decoding and encoding") {
  for (DataType dtype : {DataType(DataType::Half), DataType(DataType::BFloat16),
                         DataType(DataType::Float8_e4m3fn), DataType(DataType::Float8_e5m2)}) {
    const uint32_t count = 1u << dataTypeSizeBit(dtype);
    for (uint32_t bits = 0; bits < count; ++bits) {
      const double value = decoded(dtype, bits);
      if (std::isnan(value)) {
        CHECK(std::isnan(decoded(dtype, encoded(dtype, value))));
      } else if (encoded(dtype, value) != bits) {
        FAIL("bits ", bits, " of ", dataTypeName(dtype), " became ", encoded(dtype, value));
      }
    }
  }
}

TEST_CASE("numbers between two neighbours go to the nearer one, ties to the even one") {
  for (DataType dtype : {DataType(DataType::Half), DataType(DataType::BFloat16),
                         DataType(DataType::Float8_e4m3fn), DataType(DataType::Float8_e5m2)}) {
    const uint32_t sign = 1u << (dataTypeSizeBit(dtype) - 1);
    for (uint32_t bits = 0; bits + 1 < sign; ++bits) {
      const double low = decoded(dtype, bits);
      const double high = decoded(dtype, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) {
        continue;
      }
      const double middle = (low + high) / 2;
      const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      if (encoded(dtype, middle) != even || encoded(dtype, std::nextafter(middle, 0.0)) != bits ||
          encoded(dtype, std::nextafter(middle, kInf)) != bits + 1 ||
          encoded(dtype, -middle) != (even | sign)) {
        FAIL("around bits ", bits, " of ", dataTypeName(dtype));
      }
    }
  }
}

TEST_CASE("known encodings, overflow and special values") {
  CHECK(encoded(DataType::Half, 1.0) == 0x3C00);
  CHECK(encoded(DataType::Half, 65504.0) == 0x7BFF);
  CHECK(encoded(DataType::Half, 65519.9) == 0x7BFF);
  CHECK(encoded(DataType::Half, 65520.0) == 0x7C00);
  CHECK(encoded(DataType::Half, -1e300) == 0xFC00);
  CHECK(encoded(DataType::Half, 1e-300) == 0);
  CHECK(encoded(DataType::BFloat16, 3.1415926) == 0x4049);
  CHECK(encoded(DataType::Float8_e4m3fn, 448.0) == 0x7E);
  CHECK(encoded(DataType::Float8_e4m3fn, 464.0) == 0x7E);
  CHECK(encoded(DataType::Float8_e4m3fn, 465.0) == 0x7F);
  CHECK(encoded(DataType::Float8_e4m3fn, kInf) == 0x7F);
  CHECK(encoded(DataType::Float8_e5m2, 57344.0) == 0x7B);
  CHECK(encoded(DataType::Float8_e5m2, 61440.0) == 0x7C);
  CHECK(std::signbit(decoded(DataType::Half, 0x8000)));
  CHECK(roundToDtype(0.1, DataType::Float) == static_cast<double>(0.1f));
  CHECK(std::isnan(roundToDtype(kNan, DataType::BFloat16)));
}

TEST_CASE("integers wrap, and real numbers are cut towards zero") {
  CHECK(wrapToDtype(300, DataType::Byte) == 44);
  CHECK(wrapToDtype(200, DataType::Char) == -56);
  CHECK(wrapToDtype(-1, DataType::UInt32) == 4294967295);
  CHECK(wrapToDtype(7, DataType::Bool) == 1);
  CHECK(realToInteger(-2.9, DataType::Int) == -2);
  CHECK(realToInteger(kNan, DataType::Int) == 0);
  CHECK(realToInteger(kNan, DataType::Bool) == 1);
  CHECK(realToInteger(1e30, DataType::Int) == std::numeric_limits<int64_t>::max());
  CHECK(static_cast<uint64_t>(realToInteger(1e19, DataType::UInt64)) == 10000000000000000000u);
  CHECK(integerToReal(-1, DataType::UInt64) == 18446744073709551615.0);
}

}  // namespace
}  // namespace nvfuser
