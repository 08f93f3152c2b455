// half.cuh, bf16.cuh, fp8.cuh on the emulated device: every code and every rounding edge, against
// formats described by their numbers alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <emulated_kernel.h>

using namespace nvfuser;

namespace {

uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
float floatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/// A small floating-point format, described by its numbers alone.
struct Format {
  int fraction_bits;
  int exponent_bits;
  bool has_infinity;  ///< else the greatest code is NaN and the one below the largest number

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  unsigned codes() const { return 1u << (fraction_bits + exponent_bits); }  ///< without sign

  /// Value of a code without sign; NaN for the NaNs.
  double value(unsigned code) const {
    unsigned fraction = code & ((1u << fraction_bits) - 1), exponent = code >> fraction_bits;
    if (has_infinity && exponent == (1u << exponent_bits) - 1) {
      return fraction ? std::nan("") : std::numeric_limits<double>::infinity();
    }
    if (!has_infinity && code == codes() - 1) {
      return std::nan("");
    }
    double scaled = exponent ? 1.0 + std::ldexp(fraction, -fraction_bits)
                             : std::ldexp(fraction, 1 - fraction_bits);
    return std::ldexp(scaled, static_cast<int>(exponent) - bias());
  }
  /// The code nearest to x ≥ 0, ties to even, by looking at the neighbours; beyond the last number,
  /// what follows it.
  unsigned nearest(double x) const {
    unsigned last = has_infinity ? ((1u << exponent_bits) - 1) << fraction_bits
                                 : codes() - 1;  // infinity or NaN
    unsigned low = 0, high = last;
    while (high - low > 1) {
      unsigned middle = (low + high) / 2;
      (value(middle) <= x ? low : high) = middle;
    }
    // What would come after the greatest number, had the format more exponents.
    double above = high == last ? value(low) + (value(low) - value(low - 1)) : value(high);
    double middle = (value(low) + above) / 2;
    return x < middle || (x == middle && low % 2 == 0) ? low : high;
  }
};

/// Floats around every code of a format, and some of all sizes.
std::vector<float> interestingFloats(const Format& format) {
  std::vector<float> floats;
  for (unsigned code = 0; code + 1 < format.codes(); ++code) {
    double value = format.value(code), next = format.value(code + 1);
    if (!std::isfinite(value)) {
      break;
    }
    if (!std::isfinite(next)) {
      next = value + (value - format.value(code - 1));
    }
    for (double x : {value, (value + next) / 2}) {
      auto f = static_cast<float>(x);
      for (float g : {std::nextafterf(f, 0), f, std::nextafterf(f, 1e38f)}) {
        floats.push_back(g);
        floats.push_back(-g);
      }
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    floats.push_back(floatOf(static_cast<uint32_t>(random())));
  }
  for (uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u, 0x7f800001u,
                        0x7f7fffffu, 0xff7fffffu, 1u}) {
    floats.push_back(floatOf(bits));
  }
  return floats;
}

/// Checks both directions of a type with codes of type Code. `nan_code(x)` is the code that a NaN
/// gives.
template <typename Code, typename NanCode>
void checkFormat(const Format& format, const std::string& file, const std::string& type,
                 NanCode nan_code) {
  CAPTURE(type);
  auto kernel = compileWith({file}, R"(
extern "C" __global__ void k(float* floats, const )" +
                                        type + R"(* codes, int n, )" + type +
                                        R"(* rounded, const float* in, int m) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) floats[i] = float(codes[i]);
  for (int i = threadIdx.x; i < m; i += blockDim.x) rounded[i] = )" +
                                        type + R"((in[i]);
}
)");
  std::vector<Code> codes;
  for (unsigned code = 0; code < 2 * format.codes(); ++code) {
    codes.push_back(static_cast<Code>(code));
  }
  std::vector<float> in = interestingFloats(format);
  DeviceVector<Code> code_buffer(codes), rounded(in.size());
  DeviceVector<float> floats(codes.size()), in_buffer(in);
  int n = static_cast<int>(codes.size()), m = static_cast<int>(in.size());
  launch(*kernel, {.block = {256, 1, 1}},
         {floats.argument(), code_buffer.argument(), &n, rounded.argument(), in_buffer.argument(),
          &m});
  std::vector<float> got = floats.host();
  size_t wrong = 0;
  for (unsigned code = 0; code < 2 * format.codes(); ++code) {
    double expected = format.value(code % format.codes()) * (code < format.codes() ? 1 : -1);
    bool right = std::isnan(expected) ? std::isnan(got[code])
                                      : bitsOf(got[code]) == bitsOf(static_cast<float>(expected));
    wrong += !right;
  }
  CHECK(wrong == 0);
  std::vector<Code> got_codes = rounded.host();
  for (size_t i = 0; i < in.size(); ++i) {
    unsigned sign = std::signbit(in[i]) ? format.codes() : 0;
    unsigned expected = std::isnan(in[i])
                            ? nan_code(in[i])
                            : format.nearest(std::fabs(static_cast<double>(in[i]))) | sign;
    if (got_codes[i] != static_cast<Code>(expected)) {
      CAPTURE(in[i]);
      CHECK(static_cast<unsigned>(got_codes[i]) == expected);
      if (++wrong > 5) {
        break;
      }
    }
  }
}

}  // namespace

TEST_CASE("snippets: half, bfloat16 and both fp8 formats, every code and every rounding edge") {
  checkFormat<uint16_t>({10, 5, true}, "half.cuh", "half_t", [](float) { return 0x7fffu; });
  checkFormat<uint16_t>({7, 8, true}, "bf16.cuh", "bf16_t", [](float) { return 0x7fffu; });
  auto fp8Nan = [](float x) { return std::signbit(x) ? 0xffu : 0x7fu; };
  checkFormat<uint8_t>({3, 4, false}, "fp8.cuh", "fp8_e4m3_t", fp8Nan);
  checkFormat<uint8_t>({2, 5, true}, "fp8.cuh", "fp8_e5m2_t", fp8Nan);
}
