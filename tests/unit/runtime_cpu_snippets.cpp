// The host's side of the device library: compiled by the host compiler as a kernel would be, and
// measured.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <codegen/snippets.h>
#include <runtime/host_compiler/host_compiler.h>
#include <support/text.h>

using namespace nvfuser;

namespace {

std::string snippets(std::initializer_list<const char*> paths) {
  std::string result;
  for (const char* path : paths) {
    result += runtimeFile(path);
  }
  return result;
}

/// The option for x86-64 of a level; zig spells it differently.
std::string architecture(std::string level) {
  bool zig = hostCompiler().is_zig;
  if (!level.empty()) {
    level = (zig ? "_v" : "-v") + level;
  }
  return (zig ? "-march=x86_64" : "-march=x86-64") + level;
}

SharedObject compiled(const std::string& text, std::vector<std::string> more = {}) {
  std::vector<std::string> flags = hostFlags(hostCompiler());
  flags.insert(flags.end(), more.begin(), more.end());
  HostCompileRequest request;
  request.text = text;
  request.flags = flags;
  return compileSharedObject(request);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrtOf(double x) { return 1 / std::sqrt(x); }

constexpr float kInf = std::numeric_limits<float>::infinity();
/// Floats of every size: all bit patterns in steps, and the special ones.
std::vector<float> sweep(uint64_t step) {
  std::vector<float> all = {0.f,           -0.f,           kInf,      -kInf,      std::nanf(""),
                            1.f,           -1.f,           0x1p-149f, -0x1p-149f, 0x1p-126f,
                            3.4028235e38f, -3.4028235e38f, 88.72283f, 88.72284f,  -103.97f,
                            -103.98f,      128.f,          -149.5f};
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += step) {
    all.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  while (all.size() % 64 != 0) {
    all.push_back(0.5f);
  }
  return all;
}

constexpr uint64_t kStep = 10007;

}  // namespace

TEST_CASE("cpu snippets: fast functions are good enough for bfloat16") {
  SharedObject object = compiled(snippets({"cpu/prelude.h", "cpu/simd.h", "cpu/simd_math.h"}) + R"(
using V = Simd<float, kSimdFloats>;
extern "C" void run(float* y, const float* x, long n, int which) {
  for (long i = 0; i < n; i += kSimdFloats) {
    V v = simdLoad<kSimdFloats>(x + i);
    simdStore(y + i, which == 0 ? simdExpFast(v) : which == 1 ? simdReciprocalFast(v) :
        which == 2 ? simdRsqrtFast(v)
                   : which == 3 ? simdSigmoidFast(v)
                                : which == 4 ? simdTanhFast(v) : simdDivideFast(v, V{} + 3e-39f));
  }
})");
  auto run = reinterpret_cast<void (*)(float*, const float*, long, int)>(object.symbol("run"));
  std::vector<float> x(1 << 16), y(x.size());
  struct Case {
    double (*reference)(double);
    float from, to;
    double limit;
  };
  const Case cases[] = {
      {std::exp, -87, 88, 1e-5},
      {[](double v) { return 1 / v; }, 0.001f, 1000, 6.2e-5},
      {rsqrtOf, 0.001f, 1000, 6.2e-5},
      {sigmoid, -30, 30, 1e-4},
      {std::tanh, 0.5f, 10, 1e-4},
      {[](double v) { return v / static_cast<double>(3e-39f); }, 1e-20f, 1e-3f, 3e-7}};
  for (int which = 0; which < 6; which++) {
    const Case& wanted = cases[which];
    for (size_t i = 0; i < x.size(); i++) {
      x[i] = wanted.from +
             (wanted.to - wanted.from) * static_cast<float>(i) / static_cast<float>(x.size());
    }
    run(y.data(), x.data(), static_cast<long>(x.size()), which);
    double worst = 0;
    for (size_t i = 0; i < x.size(); i++) {
      double right = wanted.reference(x[i]);
      worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - right) / std::fabs(right));
    }
    CAPTURE(which);
    CHECK(worst <= wanted.limit);
  }
}

namespace {

/// An independent conversion: the nearest of all values of the format, ties to the even bit
/// pattern.
template <typename Bits>
struct Format {
  std::vector<double> values;  ///< of the positive bit patterns, ascending
  Bits infinity_or_nan;        ///< what overflow becomes
  double overflow;             ///< magnitudes from here on overflow

  Bits nearest(float x) const {
    double magnitude = std::fabs(static_cast<double>(x));
    Bits sign = std::signbit(x) ? static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1)) : Bits{0};
    if (magnitude >= overflow) {
      return static_cast<Bits>(sign | infinity_or_nan);
    }
    size_t above = static_cast<size_t>(std::lower_bound(values.begin(), values.end(), magnitude) -
                                       values.begin());
    if (above == values.size()) {
      return static_cast<Bits>(sign | (above - 1));
    }
    if (above > 0) {
      double up = values[above] - magnitude, down = magnitude - values[above - 1];
      if (down < up || (down == up && above % 2 == 1)) {
        above--;
      }
    }
    return static_cast<Bits>(sign | above);
  }
};

template <typename Bits>
void checkFormat(const std::string& type, int exponent_bits, int fraction_bits, int finite_patterns,
                 Bits overflow_bits, double overflow) {
  CAPTURE(type);
  Format<Bits> format;
  int bias = (1 << (exponent_bits - 1)) - 1;
  for (int pattern = 0; pattern < finite_patterns; pattern++) {
    int exponent = pattern >> fraction_bits, fraction = pattern & ((1 << fraction_bits) - 1);
    format.values.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                          : std::ldexp((1 << fraction_bits) + fraction,
                                                       exponent - bias - fraction_bits));
  }
  format.infinity_or_nan = overflow_bits;
  format.overflow = overflow;

  bool vector = sizeof(Bits) == 2;
  std::string text = snippets({"cpu/prelude.h", "cpu/half.h", "cpu/bf16.h", "cpu/fp8.h"}) +
                     snippets({"cpu/simd.h"}) + nvfuser::text("using T = ", type, R"(;
extern "C" void to_float(float* y, const T* x, long n) { for (long i = 0; i < n;
    i++) y[i] = float(x[i]); }
extern "C" void from_float(T* y, const float* x, long n) { for (long i = 0; i < n;
    i++) y[i] = T(x[i]); }
)");
  if (vector) {
    text += R"(
extern "C" void to_float_simd(float* y, const T* x, long n) {
  for (long i = 0; i < n; i += kSimdFloats) simdStore(y + i, simdLoad<kSimdFloats>(x + i));
}
extern "C" void from_float_simd(T* y, const float* x, long n) {
  for (long i = 0; i < n; i += kSimdFloats) simdStore(y + i, simdLoad<kSimdFloats>(x + i));
})";
  }
  std::vector<std::vector<std::string>> variants = {{}};
#if defined(__x86_64__)
  variants.push_back({architecture("")});
  if (__builtin_cpu_supports("avx2")) {
    variants.push_back({architecture("3")});
  }
#endif
  for (const std::vector<std::string>& flags : variants) {
    SharedObject object = compiled(text, flags);
    for (std::string suffix : {"", "_simd"}) {
      if (!vector && !suffix.empty()) {
        continue;
      }
      CAPTURE(suffix);
      auto to_float =
          reinterpret_cast<void (*)(float*, const Bits*, long)>(object.symbol("to_float" + suffix));
      auto from_float = reinterpret_cast<void (*)(Bits*, const float*, long)>(
          object.symbol("from_float" + suffix));
      // Every pattern to float and back.
      std::vector<Bits> patterns(size_t{1} << (sizeof(Bits) * 8)), back(patterns.size());
      for (size_t i = 0; i < patterns.size(); i++) {
        patterns[i] = static_cast<Bits>(i);
      }
      std::vector<float> wide(patterns.size());
      to_float(wide.data(), patterns.data(), static_cast<long>(patterns.size()));
      from_float(back.data(), wide.data(), static_cast<long>(patterns.size()));
      size_t wrong = 0;
      for (size_t i = 0; i < patterns.size(); i++) {
        size_t magnitude = i % (patterns.size() / 2);
        if (magnitude < format.values.size()) {
          double sign = i == magnitude ? 1 : -1;
          wrong +=
              wide[i] != sign * format.values[magnitude] || std::signbit(wide[i]) != (sign < 0);
          wrong += back[i] != patterns[i];
        } else if (std::isinf(wide[i])) {
          wrong += back[i] != patterns[i];
        } else {
          wrong += !std::isnan(wide[i]);
          float again = 0;
          std::vector<float> many(64);
          std::vector<Bits> bits(64, back[i]);
          to_float(many.data(), bits.data(), 64);
          again = many[0];
          wrong += !std::isnan(again);
        }
      }
      CHECK(wrong == 0);
      // Floats of every size from an independent rounding.
      std::vector<float> x = sweep(kStep);
      std::vector<Bits> y(x.size());
      from_float(y.data(), x.data(), static_cast<long>(x.size()));
      wrong = 0;
      for (size_t i = 0; i < x.size(); i++) {
        if (!std::isnan(x[i])) {
          wrong += y[i] != format.nearest(x[i]);
        }
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace

TEST_CASE("cpu snippets: half") { checkFormat<uint16_t>("half_t", 5, 10, 0x7c00, 0x7c00, 65520); }
TEST_CASE("cpu snippets: bfloat16") {
  checkFormat<uint16_t>("bf16_t", 8, 7, 0x7f80, 0x7f80, 0x1.ffp127);
}
TEST_CASE("cpu snippets: float8 e4m3fn, whose overflow is NaN") {
  checkFormat<uint8_t>("fp8_e4m3_t", 4, 3, 0x7f, 0x7f, std::nextafter(464.0, 1e9));
}
TEST_CASE("cpu snippets: float8 e5m2") {
  checkFormat<uint8_t>("fp8_e5m2_t", 5, 2, 0x7c, 0x7c, 61440);
}

TEST_CASE("cpu snippets: partial vectors touch nothing beyond") {
  SharedObject object = compiled(snippets({"cpu/prelude.h", "cpu/bf16.h", "cpu/simd.h"}) + R"(
extern "C" float sum(const float* x, long n) { return simdSum(simdLoadPart<16>(x, n, 0)); }
extern "C" float largest(const bf16_t* x, long n) { return simdLargest(simdLoadPart<16>(x, n,
    -1e30f)); }
extern "C" void store(float* x, long n) { simdStorePart(x, simdFill<16>(7.0f), n); }
)");
  auto sum = reinterpret_cast<float (*)(const float*, long)>(object.symbol("sum"));
  auto largest = reinterpret_cast<float (*)(const uint16_t*, long)>(object.symbol("largest"));
  auto store = reinterpret_cast<void (*)(float*, long)>(object.symbol("store"));
  for (long n = 0; n <= 16; n++) {
    std::vector<float> ones(static_cast<size_t>(n), 1.f);
    CHECK(sum(ones.data(), n) == static_cast<float>(n));
    std::vector<uint16_t> minus_ones(static_cast<size_t>(n), 0xbf80);
    CHECK(largest(minus_ones.data(), n) == (n > 0 ? -1.f : -1e30f));
    std::vector<float> target(17, 0.f);
    store(target.data(), n);
    for (long i = 0; i < 17; i++) {
      CHECK(target[static_cast<size_t>(i)] == (i < n ? 7.f : 0.f));
    }
  }
}

TEST_CASE("cpu snippets: integers wrap, and nothing traps") {
  SharedObject object = compiled(snippets({"cpu/prelude.h", "cpu/math.h"}) + R"(
template <class T> bool all(T least) {
  T zero = 0, one = 1, minus = T(-1), seven = 7, two = 2;
  bool ok = truncDiv(seven, zero) == 0 && truncMod(seven, zero) == 0 && truncDiv(least,
      minus) == T(0 - (u64)least) &&
            truncMod(least, minus) == 0 && ceilDiv(seven, two) == 4 && ceilDiv(seven, zero) == 0 &&
            shiftLeft(one, T(sizeof(T) * 8)) == 0 && shiftLeft(one, minus) == 0 && shiftLeft(one,
                two) == 4 &&
            powInteger(two, seven) == T(128) && powInteger(seven, zero) == 1 && gcd(T(12),
                T(18)) == 6 &&
            gcd(zero, seven) == 7 && bitCeil(T(5)) == 8 && bitCeil(zero) == 1 &&
                bitCeil(T(64)) == 64 &&
            shiftRightLogical(minus, T(sizeof(T) * 8 - 1)) == 1 && shiftRight(T(8), two) == 2;
  if (T(-1) < T(0)) {
    T minus7 = T(-7), minus2 = T(-2);
    ok = ok && truncDiv(minus7, two) == T(-3) && truncMod(minus7, two) == minus &&
        floorMod(minus7, two) == 1 &&
         floorMod(seven, minus2) == minus && ceilDiv(minus7, two) == T(-3) && shiftRight(minus7,
             T(100)) == minus &&
         powInteger(minus, minus7) == minus && powInteger(two, minus) == 0 && gcd(T(-12),
             T(18)) == 6 && bitCeil(minus7) == 1;
  }
  return ok;
}
extern "C" int run() {
  return all<i8>(-128) | all<u8>(0) << 1 | all<i16>(-32768) << 2 | all<u16>(0) << 3 |
         all<i32>(-2147483647 - 1) << 4 | all<u32>(0) << 5 | all<i64>((i64)1 << 63) << 6 |
             all<u64>(0) << 7;
}
extern "C" double inverse(double x) { return erfinv(x); }
extern "C" double inverse_tail(double x) { return erfcinv(x); }
extern "C" float cut(float x) { return float(toInteger<i64>(x)); }
template <class T>
bool isMinus(T x) {
  return x == 0 && __builtin_signbit(x);
}
template <class T>
int zeros() {
  T plus = 0, minus = -plus;
  return !isMinus(maxNan(plus, minus)) && !isMinus(maxNan(minus, plus)) &&
         isMinus(maxNan(minus, minus)) && isMinus(minNan(plus, minus)) &&
         isMinus(minNan(minus, plus)) && !isMinus(minNan(plus, plus)) &&
         !isMinus(maxNumber(minus, plus)) && isMinus(minNumber(plus, minus));
}
extern "C" int reals() {
  float nan = __builtin_nanf("");
  return (maxNan(1.0f, nan) != maxNan(1.0f, nan)) && (maxNan(nan, 1.0f) != maxNan(nan, 1.0f)) &&
      maxNan(2.0, 3.0) == 3 && zeros<float>() && zeros<double>() &&
      maxNumber(nan, 1.0f) == 1 && maxNumber(1.0f, nan) == 1 && minNumber(nan, 1.0f) == 1 &&
      minNumber(1.0f, nan) == 1 && maxNumber(nan, nan) != maxNumber(nan, nan) &&
         (minNan(nan, 1.0f) != minNan(nan, 1.0f)) && minNan(2.0f, 3.0f) == 2 && floorMod(-7.0,
             2.0) == 1 &&
         floorMod(7.5f, -2.0f) == -0.5f && lerp(1.0f, 3.0f, 0.25f) == 1.5f && lerp(1.0, 3.0,
             1.0) == 3;
}
)");
  CHECK(reinterpret_cast<int (*)()>(object.symbol("run"))() == 255);
  CHECK(reinterpret_cast<int (*)()>(object.symbol("reals"))() == 1);
  auto inverse = reinterpret_cast<double (*)(double)>(object.symbol("inverse"));
  auto tail = reinterpret_cast<double (*)(double)>(object.symbol("inverse_tail"));
  for (double y : {-0.999999, -0.5, -1e-10, 0.0, 0.3, 0.5, 0.9, 0.9999999}) {
    CHECK(std::erf(inverse(y)) == doctest::Approx(y).epsilon(1e-14));
  }
  for (double y : {1e-300, 1e-20, 0.1, 1.0, 1.9}) {
    CHECK(std::erfc(tail(y)) == doctest::Approx(y).epsilon(1e-12));
  }
  CHECK(std::isinf(inverse(1)));
  CHECK(std::isnan(inverse(1.5)));
  auto cut = reinterpret_cast<float (*)(float)>(object.symbol("cut"));
  CHECK(cut(-1.5f) == -1.0f);
  CHECK_FALSE(std::signbit(cut(-0.3f)));  // an integer has one zero
}

TEST_CASE("cpu snippets: complex numbers") {
  SharedObject object = compiled(snippets({"cpu/prelude.h", "cpu/math.h", "cpu/complex.h"}) + R"(
using C = complex<double>;
bool near(C a, C b) { return abs(a - b) < 1e-12; }
extern "C" int run() {
  C i(0, 1), z(3, -4);
  return near(i * i, C(-1)) && abs(z) == 5 && near(z / z, C(1)) && near(exp(log(z)), z) &&
      near(sqrt(z) * sqrt(z), z) &&
         near(exp2(log2(z)), z) && near(pow(z, C(2)), z * z) && near(log10(C(100)), C(2)) &&
             -z == C(-3, 4) && z != i &&
         near(tanh(atanh(C(0.25, 0.5))), C(0.25, 0.5)) && near(sin(z) * sin(z) + cos(z) * cos(z),
             C(1)) &&
         near(lerp(C(1), C(3), C(0.25)), C(1.5)) && complex<float>(z).imag() == -4.0f &&
             (z / C(0)).re > 1e300;
}
// (3 + 2i) / (3 + 2i) · 2^n, where one over the divisor is beyond all numbers or none.
template <class T>
bool quotients(T unit, T tiny, T huge) {
  const T scales[] = {tiny, tiny * 1024, T(1), huge / 1024, huge};
  for (T scale : scales) {
    complex<T> small(3 * scale, 2 * scale), turned(-2 * scale, 3 * scale);
    complex<T> one = small / small, i = turned / small, minus_i = small / turned;
    complex<T> differences[] = {one - T(1), i - complex<T>(0, 1), minus_i - complex<T>(0, -1)};
    for (complex<T> difference : differences) {
      if (!(abs(difference) <= 4 * unit)) {
        return false;
      }
    }
  }
  return true;
}
extern "C" int run_quotients() {
  return quotients(0x1p-24f, 0x1p-149f, 0x1p126f) && quotients(0x1p-53, 0x1p-1074, 0x1p1022);
}
)");
  CHECK(reinterpret_cast<int (*)()>(object.symbol("run"))() == 1);
  CHECK(reinterpret_cast<int (*)()>(object.symbol("run_quotients"))() == 1);
}

TEST_CASE("cpu snippets: random numbers are the GPU's text") {
  SharedObject object = compiled(snippets({"cpu/prelude.h", "philox.cuh"}) + R"(
extern "C" void words(u32* out, u64 seed, u64 offset, u64 block) {
  u32x4 r = philox(seed, offset, block);
  for (int i = 0; i < 4; i++) out[i] = r.w[i];
}
extern "C" void normals(float* out, long n) { for (long e = 0; e < n; e++) out[e] = normalF32(1,
    2, e); }
extern "C" void turns(double* out, double x) { sincospi(x, out, out + 1); }
)");
  // The known answers of the algorithm's authors (Random123, kat_vectors).
  auto words =
      reinterpret_cast<void (*)(uint32_t*, uint64_t, uint64_t, uint64_t)>(object.symbol("words"));
  uint32_t out[4];
  words(out, 0, 0, 0);
  CHECK(std::vector<uint32_t>(out, out + 4) ==
        std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  words(out, ~0ull, ~0ull, ~0ull);
  CHECK(std::vector<uint32_t>(out, out + 4) ==
        std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  words(out, 0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88);
  CHECK(std::vector<uint32_t>(out, out + 4) ==
        std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

  std::vector<float> normals(100000);
  reinterpret_cast<void (*)(float*, long)>(object.symbol("normals"))(normals.data(), 100000);
  double sum = 0, squares = 0;
  for (float x : normals) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  CHECK(std::fabs(sum / 1e5) < 0.015);
  CHECK(std::fabs(squares / 1e5 - 1) < 0.02);

  auto turns = reinterpret_cast<void (*)(double*, double)>(object.symbol("turns"));
  for (double x : {0.0, 0.25, 0.5, 1.0, 1.5, 1.75, -0.5, 3.0}) {
    double pair[2];
    turns(pair, x);
    CHECK(std::fabs(pair[0] - std::sin(x * 3.14159265358979323846)) < 1e-15);
    CHECK(std::fabs(pair[1] - std::cos(x * 3.14159265358979323846)) < 1e-15);
  }
}
