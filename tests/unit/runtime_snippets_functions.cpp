// philox.cuh, fast_divide.cuh, math.cuh and complex.cuh on the emulated device, against known
// answers, exact arithmetic and the C++ library.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <emulated_kernel.h>

using namespace nvfuser;

TEST_CASE("snippets: Philox known answers and what is made of the bits") {
  auto kernel = compileWith({"philox.cuh"}, R"(
extern "C" __global__ void k(u32* words, float* uniform, float* normal, double* uniform64, double* normal64, u8* keep) {
  if (threadIdx.x == 0) {
    u32x4 zero = philox(0, 0, 0);
    u32x4 ones = philox(~0ull, ~0ull, ~0ull);
    u32x4 pi = philox(0x299f31d0a4093822ull, 0x0370734413198a2eull, 0x85a308d3243f6a88ull);
    for (int i = 0; i < 4; ++i) {
      words[i] = zero.w[i];
      words[4 + i] = ones.w[i];
      words[8 + i] = pi.w[i];
    }
  }
  for (u64 e = threadIdx.x; e < 40000; e += blockDim.x) {
    uniform[e] = uniformF32(7, 3, e);
    normal[e] = normalF32(7, 3, e);
    uniform64[e] = uniformF64(7, 3, e);
    normal64[e] = normalF64(7, 3, e);
    keep[e] = dropoutKeep(philox(7, 3, e / 8), e, probabilityBits(0.9), 7, 3);
  }
}
)");
  size_t n = 40000;
  DeviceVector<uint32_t> words(12);
  DeviceVector<float> uniform(n), normal(n);
  DeviceVector<double> uniform64(n), normal64(n);
  DeviceVector<uint8_t> keep(n);
  launch(*kernel, {.block = {128, 1, 1}},
         {words.argument(), uniform.argument(), normal.argument(), uniform64.argument(),
          normal64.argument(), keep.argument()});
  // Random123's kat_vectors, philox4x32 with 10 rounds.
  std::vector<uint32_t> known = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
                                 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd,
                                 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  CHECK(words.host() == known);
  auto moments = [](const auto& values) {
    double sum = 0, squares = 0;
    for (auto v : values) {
      sum += static_cast<double>(v);
      squares += static_cast<double>(v) * static_cast<double>(v);
    }
    auto count = static_cast<double>(values.size());
    return std::pair(sum / count, squares / count);
  };
  for (auto [mean, square] : {moments(uniform.host()), moments(uniform64.host())}) {
    CHECK(mean == doctest::Approx(0.5).epsilon(0.02));
    CHECK(square == doctest::Approx(1.0 / 3).epsilon(0.02));
  }
  for (auto [mean, square] : {moments(normal.host()), moments(normal64.host())}) {
    CHECK(std::fabs(mean) < 0.02);
    CHECK(square == doctest::Approx(1).epsilon(0.03));
  }
  for (float u : uniform.host()) {
    REQUIRE((u >= 0 && u < 1));
  }
  CHECK(moments(keep.host()).first == doctest::Approx(0.9).epsilon(0.01));
}

TEST_CASE("snippets: fast division") {
  auto kernel = compileWith({"fast_divide.cuh"}, R"(
extern "C" __global__ void k(u32* bad, const u32* divisors, int count, const u32* numbers, int number_count) {
  u32 wrong = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    FastDivide f = makeFastDivide(divisors[i]);
    for (int j = 0; j < number_count; ++j) {
      u32 q, r;
      f.divmod(numbers[j], q, r);
      wrong += q != numbers[j] / divisors[i] || r != numbers[j] % divisors[i];
    }
  }
  bad[threadIdx.x] = wrong;
}
)");
  std::vector<uint32_t> divisors, numbers = {0, 1, 2, 0x7fffffff, 0x7ffffffe};
  for (uint32_t d = 1; d < 70; ++d) {
    divisors.push_back(d);
  }
  for (uint32_t p = 7; p < 31; ++p) {
    for (uint32_t d : {(1u << p) - 1, 1u << p, (1u << p) + 1}) {
      divisors.push_back(d);
    }
  }
  divisors.push_back(0x7fffffff);
  std::mt19937 random(3);
  for (uint32_t d : {3u, 7u, 641u, 65537u, 1000003u}) {
    for (uint32_t m : {1u, 100u, 2000u}) {
      numbers.push_back(d * m);
      numbers.push_back(d * m - 1);
    }
  }
  for (int i = 0; i < 100; ++i) {
    numbers.push_back(static_cast<uint32_t>(random()) >> 1);
  }
  DeviceVector<uint32_t> bad(32), d(divisors), m(numbers);
  int count = static_cast<int>(divisors.size()), number_count = static_cast<int>(numbers.size());
  launch(*kernel, {.block = {32, 1, 1}},
         {bad.argument(), d.argument(), &count, m.argument(), &number_count});
  CHECK(bad.host() == std::vector<uint32_t>(32, 0));
}

TEST_CASE("snippets: integer and real functions of the table") {
  auto kernel = compileWith({"math.cuh"}, R"(
extern "C" __global__ void k(i8* out, float* reals) {
  for (int at = threadIdx.x; at < 65536; at += blockDim.x) {
    i8 a = (i8)(at & 255), b = (i8)(at >> 8);
    i8* row = out + at * 8;
    row[0] = truncDiv(a, b);
    row[1] = truncMod(a, b);
    row[2] = floorDiv(a, b);
    row[3] = floorMod(a, b);
    row[4] = gcd(a, b);
    row[5] = powInteger(a, b);
    row[6] = shiftLeft(a, b);
    row[7] = shiftRight(a, b);
  }
  if (threadIdx.x == 0) {
    float nan = quietNan<float>(), inf = infinity<float>();
    reals[0] = maxNan(nan, 1.f);
    reals[1] = minNan(1.f, nan);
    reals[2] = maxNan(-inf, 3.f);
    reals[3] = floorMod(-7.f, 3.f);
    reals[4] = floorDiv(-7.f, 3.f);
    reals[5] = lerp(3.f, 5.f, 1.f);
    reals[6] = floorMod(7.f, -3.f);
    reals[7] = toInteger<i32>(1e20f) == 2147483647;
    reals[8] = toInteger<u8>(-1.f);
    reals[9] = bitCeil((i64)5) + bitCeil(64) + bitCeil(0);
    reals[10] = erfinvf(0.5f);
    reals[11] = (float)erfcinv(1e-10);
    reals[12] = sinpif(1.25f);
    reals[13] = cospif(0.5f);
    float zero = 0.f * reals[2];
    reals[14] = maxNan(-zero, zero);
    reals[15] = maxNan(zero, -zero);
    reals[16] = minNan(-zero, zero);
    reals[17] = minNan(zero, -zero);
    reals[18] = maxNan(-(double)zero, (double)zero);
    reals[19] = minNan((double)zero, -(double)zero);
    reals[20] = maxNumber(nan, -zero);
    reals[21] = minNumber(zero, -zero);
  }
}
)");
  DeviceVector<int8_t> out(65536 * 8);
  DeviceVector<float> reals(22);
  launch(*kernel, {.block = {128, 1, 1}}, {out.argument(), reals.argument()});
  std::vector<int8_t> got = out.host();
  size_t wrong = 0;
  for (int at = 0; at < 65536; ++at) {
    int a = static_cast<int8_t>(at & 255), b = static_cast<int8_t>(at >> 8);
    const int8_t* row = got.data() + at * 8;
    auto is = [&](int column, int expected) {
      wrong += row[column] != static_cast<int8_t>(expected);
    };
    is(0, b ? a / b : 0);
    is(1, b ? a % b : 0);
    if (b) {
      is(2, static_cast<int>(std::floor(static_cast<double>(a) / b)));
    }
    if (b) {
      is(3, a - b * static_cast<int>(std::floor(static_cast<double>(a) / b)));
    }
    int x = std::abs(a), y = std::abs(b);
    while (y) {
      std::swap(x %= y, y);
    }
    is(4, x);
    int power = 1;
    for (int i = 0; i < b; ++i) {
      power = static_cast<int8_t>(power * a);
    }
    is(5, b >= 0 ? power : a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0);
    is(6, b < 0 || b > 7 ? 0 : a << b);
    is(7, b < 0 || b > 7 ? (a < 0 ? -1 : 0) : a >> b);
  }
  CHECK(wrong == 0);
  std::vector<float> r = reals.host();
  CHECK(std::isnan(r[0]));
  CHECK(std::isnan(r[1]));
  CHECK(r[2] == 3);
  CHECK(r[3] == 2);
  CHECK(r[4] == -3);
  CHECK(r[5] == 5);
  CHECK(r[6] == -2);
  CHECK(r[7] == 1);
  CHECK(r[8] == 255);
  CHECK(r[9] == 8 + 64 + 1);
  CHECK(static_cast<double>(r[10]) == doctest::Approx(0.4769362762044699).epsilon(1e-6));
  CHECK(static_cast<double>(r[11]) == doctest::Approx(4.572824967389486).epsilon(1e-6));
  CHECK(static_cast<double>(r[12]) == doctest::Approx(-0.70710678).epsilon(1e-6));
  CHECK(r[13] == 0);
  for (size_t n = 14; n < 22; ++n) {
    const bool is_least = n == 16 || n == 17 || n >= 19;
    CAPTURE(n);
    CHECK(r[n] == 0);
    CHECK(std::signbit(r[n]) == is_least);
  }
}

TEST_CASE("snippets: complex functions against the C++ library") {
  const std::vector<std::string> names = {"exp",  "log",  "sqrt",  "sin",   "cos",
                                          "tan",  "asin", "acos",  "atan",  "sinh",
                                          "cosh", "tanh", "asinh", "acosh", "atanh"};
  std::string body =
      "extern \"C\" __global__ void k(complex<double>* out, const complex<double>* in, int n) {\n"
      "  for (int i = threadIdx.x; i < n; i += blockDim.x) {\n    complex<double> z = in[i];\n"
      "    complex<double>* row = out + i * 20;\n";
  for (size_t f = 0; f < names.size(); ++f) {
    body += "    row[" + std::to_string(f) + "] = " + names[f] + "(z);\n";
  }
  body +=
      "    row[15] = complex<double>(2.5, -1.5) / z;\n    row[16] = pow(z, complex<double>(0.3, "
      "-0.7));\n"
      "    row[17] = log1p(z);\n    row[18] = expm1(z);\n    row[19] = complex<double>(abs(z), "
      "arg(z));\n  }\n}\n";
  auto kernel = compileWith({"complex.cuh"}, body);
  using C = std::complex<double>;
  std::vector<C> in;
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  for (double scale : {1e-3, 0.3, 1.0, 3.0, 20.0}) {
    for (int i = 0; i < 60; ++i) {
      in.emplace_back(scale * normal(random), scale * normal(random));
    }
  }
  for (double a : {0.5, 2.0, -0.5, -2.0}) {
    in.emplace_back(a, 0.0);
    in.emplace_back(a, -0.0);
    in.emplace_back(0.0, a);
  }
  DeviceVector<C> in_buffer(in), out(in.size() * 20);
  int n = static_cast<int>(in.size());
  launch(*kernel, {.block = {64, 1, 1}}, {out.argument(), in_buffer.argument(), &n});
  std::vector<C> got = out.host();
  using F = C (*)(const C&);
  const F functions[] = {std::exp, std::log, std::sqrt, std::sin, std::cos, std::tan};
  for (size_t i = 0; i < in.size(); ++i) {
    C z = in[i];
    C expected[20];
    for (size_t f = 0; f < 6; ++f) {
      expected[f] = functions[f](z);
    }
    expected[6] = std::asin(z);
    expected[7] = std::acos(z);
    expected[8] = std::atan(z);
    expected[9] = std::sinh(z);
    expected[10] = std::cosh(z);
    expected[11] = std::tanh(z);
    expected[12] = std::asinh(z);
    expected[13] = std::acosh(z);
    expected[14] = std::atanh(z);
    expected[15] = C(2.5, -1.5) / z;
    expected[16] = std::exp(C(0.3, -0.7) * std::log(z));
    expected[17] = C(std::log1p((2 + z.real()) * z.real() + z.imag() * z.imag()) / 2,
                     std::atan2(z.imag(), 1 + z.real()));
    expected[18] = std::exp(z) - 1.0;
    expected[19] = C(std::abs(z), std::arg(z));
    for (size_t f = 0; f < 20; ++f) {
      C g = got[i * 20 + f];
      double size = std::max(std::abs(expected[f]), 1e-9);
      bool close = std::abs(g - expected[f]) <= 1e-12 * size + ((f == 17 || f == 18) ? 1e-14 : 0);
      if (!close) {
        CAPTURE(f);
        CAPTURE(z.real());
        CAPTURE(z.imag());
        CAPTURE(g.real());
        CAPTURE(g.imag());
        CAPTURE(expected[f].real());
        CAPTURE(expected[f].imag());
        CHECK(close);
      }
    }
  }
}

TEST_CASE("snippets: quotients of very small and of very large complex numbers") {
  auto kernel = compileWith({"complex.cuh"}, R"(
template <class T>
__device__ void divide(complex<T>* out, const complex<T>* a, const complex<T>* b, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    out[i] = a[i] / b[i];
  }
}
extern "C" __global__ void k(complex<float>* f, const complex<float>* a, const complex<float>* b,
                             complex<double>* d, const complex<double>* p, const complex<double>* q,
                             int n) {
  divide(f, a, b, n);
  divide(d, p, q, n);
}
)");
  const auto check = [](auto quotients, auto dividends, auto divisors, double unit) {
    using Wide = std::complex<long double>;
    for (size_t i = 0; i < quotients.size(); ++i) {
      const Wide a(dividends[i].real(), dividends[i].imag());
      const Wide b(divisors[i].real(), divisors[i].imag());
      const Wide right = a * std::conj(b) / std::norm(b);
      const Wide got(quotients[i].real(), quotients[i].imag());
      CAPTURE(i);
      CHECK(std::abs(got - right) <= 4 * unit * std::abs(right));
    }
  };
  std::vector<std::complex<float>> a, b;
  std::vector<std::complex<double>> p, q;
  for (const auto& [x, y] : {std::pair(3.0, 2.0), {-2.0, 3.0}, {0.0, 1.0}, {5.0, 5.0}}) {
    for (int exponent : {-149, -140, -100, -79, 0, 80, 100, 125}) {
      b.emplace_back(std::ldexp(x, exponent), std::ldexp(y, exponent));
      a.emplace_back(std::ldexp(1.5, std::max(exponent, -100)), std::ldexp(-7, exponent));
    }
    for (int exponent : {-1074, -1000, -600, -400, 0, 400, 600, 1020}) {
      q.emplace_back(std::ldexp(x, exponent), std::ldexp(y, exponent));
      p.emplace_back(std::ldexp(1.5, std::max(exponent, -800)), std::ldexp(-7, exponent));
    }
  }
  DeviceVector<std::complex<float>> f(a.size()), on_a(a), on_b(b);
  DeviceVector<std::complex<double>> d(p.size()), on_p(p), on_q(q);
  int n = static_cast<int>(a.size());
  launch(*kernel, {.block = {32, 1, 1}},
         {f.argument(), on_a.argument(), on_b.argument(), d.argument(), on_p.argument(),
          on_q.argument(), &n});
  check(f.host(), a, b, 0x1p-24);
  check(d.host(), p, q, 0x1p-53);
}
