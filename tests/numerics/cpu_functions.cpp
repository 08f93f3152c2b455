// Functions of vectors on the CPU (runtime/cpu/simd_*.h): their errors over the whole range, held
// to what the files promise, with every set of instructions.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <codegen/snippets.h>
#include <host_variants.h>
#include <runtime/host_compiler/host_compiler.h>
#include <support/text.h>

using namespace nvfuser;

namespace {

using Wide = long double;

/// Distance in units of the last place of the right result (of the least subnormal number below).
template <class T>
double ulps(T got, Wide right) {
  if (std::isnan(right)) {
    return std::isnan(got) ? 0 : 1e30;
  }
  const T nearest = static_cast<T>(right);
  if (std::isinf(nearest) || std::isinf(got) || std::isnan(got)) {
    return got == nearest ? 0 : 1e30;
  }
  using Limits = std::numeric_limits<T>;
  int exponent = 0;
  std::frexp(right, &exponent);
  const Wide unit = std::ldexp(
      Wide{1}, std::max(exponent - Limits::digits, Limits::min_exponent - Limits::digits));
  return static_cast<double>(std::fabs(static_cast<Wide>(got) - right) / unit);
}

Wide sigmoid(Wide x) { return 1 / (1 + std::exp(-x)); }
Wide rsqrtOf(Wide x) { return 1 / std::sqrt(x); }
/// By steps of Halley's from a start within a few percent.
Wide inverseErf(Wide y) {
  const Wide size = std::fabs(y);
  if (!(size < 1)) {
    return size == 1 ? y * std::numeric_limits<Wide>::infinity() : std::nanl("");
  }
  const Wide log_tail = -std::log((1 - size) * (1 + size));
  Wide x =
      size < 0.7L
          ? size * 0.886L
          : std::sqrt(std::max(log_tail - std::log(3.14L * std::max(log_tail, 1.0L)) / 2, 0.3L));
  for (int step = 0; step < 8; ++step) {
    const Wide missing = size < 0.5L ? std::erf(x) - size : (1 - size) - std::erfc(x);
    const Wide over = missing / (1.12837916709551257390L * std::exp(-x * x));
    x -= over / (1 + x * over);
  }
  return std::copysign(x, y);
}

constexpr Wide kInf = std::numeric_limits<Wide>::infinity();

struct Function {
  const char* name;
  Wide (*of_one)(Wide);
  double limit;  ///< ulp
  double limit_of_double;
  Wide from = -kInf, to = kInf;
};
const Function kFunctions[] = {
    {"simdExp", std::exp, 1.1, 1.1},
    {"simdExp2", std::exp2, 1.2, 1.2},
    {"simdExpm1", std::expm1, 2, 2.5},
    {"simdLog1p", std::log1p, 2, 2},
    {"simdLog", std::log, 1, 1},
    {"simdLog2", std::log2, 2, 2},
    {"simdLog10", std::log10, 2.2, 2.3},
    {"simdTanh", std::tanh, 2.6, 2.7},
    {"simdSigmoid", sigmoid, 2.5, 2.5, -87},
    {"simdSqrt", std::sqrt, 0.5, 0.5},
    {"simdRsqrt", rsqrtOf, 1.5, 1.5, 0},
    {"simdSin", std::sin, 2, 2, -2e6L, 2e6L},
    {"simdCos", std::cos, 2, 2, -2e6L, 2e6L},
    {"simdTan", std::tan, 3.6, 3.6, -2e6L, 2e6L},
    {"simdAtan", std::atan, 2.5, 2.5},
    {"simdAsin", std::asin, 2.5, 2.5},
    {"simdAcos", std::acos, 2, 2},
    {"simdSinh", std::sinh, 2, 2},
    {"simdCosh", std::cosh, 2, 2},
    {"simdAsinh", std::asinh, 2.5, 2.5},
    {"simdAcosh", std::acosh, 3, 3},
    {"simdAtanh", std::atanh, 2.5, 2.5},
    {"simdErf", std::erf, 1.8, 2.7},
    {"simdErfc", std::erfc, 3.6, 4},
    {"simdErfinv", inverseErf, 3.2, 3.2},
    {"simdLgamma", std::lgamma, 3.5, -1},  // of float alone
};

template <class T>
using Run = void (*)(T*, const T*, const T*, long);

/// Numbers of every size and both signs, special ones, and many where functions have their ends,
/// zeros and borders of formulas.
template <class T>
std::vector<T> everySize() {
  std::vector<T> all;
  for (const double size : {0.0,
                            std::numeric_limits<double>::infinity(),
                            std::nan(""),
                            1.0,
                            0x1p-149,
                            0x1p-1074,
                            0x1p-126,
                            0x1p-1022,
                            3.4028234663852886e38,
                            1.7976931348623157e308,
                            88.72283,
                            88.72284,
                            89.4159,
                            103.97,
                            103.98,
                            128.0,
                            149.5,
                            709.78,
                            709.79,
                            710.47,
                            745.13,
                            745.2,
                            1024.0,
                            1074.5,
                            0.5,
                            0.41421356,
                            0.9,
                            0.99999994,
                            0.9999999999999999,
                            1.00000012,
                            2.0,
                            3.0,
                            3.95,
                            9.19,
                            10.05,
                            10.1,
                            26.5,
                            27.3,
                            0x1p26,
                            0x1p54,
                            667.58844,
                            2.4570247,
                            8388608.0}) {
    all.push_back(static_cast<T>(size));
    all.push_back(static_cast<T>(-size));
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 120'000; ++i) {
    if constexpr (sizeof(T) == 4) {
      all.push_back(std::bit_cast<T>(static_cast<uint32_t>(random())));
    } else {
      all.push_back(std::bit_cast<T>(random()));
    }
  }
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int i = 0; i < 30'000; ++i) {
    all.push_back(static_cast<T>(2e6 * uniform(random)));  // angles beside those of few turns
  }
  for (int i = 0; i < 30'000; ++i) {
    const double x = uniform(random);
    for (const double scaled : {x, 4 * x, 30 * x, 1000 * x, 1 + x * 1e-3, 1 - x * 1e-9,
                                std::copysign(1 - std::fabs(x) * 1e-6, x)}) {
      all.push_back(static_cast<T>(scaled));
    }
  }
  all.resize((all.size() + 63) / 64 * 64, T{1} / 2);
  return all;
}

template <class T>
std::string loop(const std::string& name, const std::string& call, int width) {
  const char* type = sizeof(T) == 4 ? "float" : "double";
  return text("extern \"C\" void ", name, "_", type, "(", type, "* r, const ", type, "* x, const ",
              type, "* y, long n) {\n  for (long i = 0; i < n; i += ", width, ") simdStore(r + i, ",
              call, ");\n}\n");
}

template <class T>
void checkFunctions(SharedObject& object) {
  const std::string type = sizeof(T) == 4 ? "float" : "double";
  const std::vector<T> x = everySize<T>();
  std::vector<T> y(x.size());
  std::vector<T> got(x.size());
  for (const Function& function : kFunctions) {
    const double limit = sizeof(T) == 4 ? function.limit : function.limit_of_double;
    if (limit < 0) {
      continue;
    }
    auto run = reinterpret_cast<Run<T>>(object.symbol(text(function.name, "_", type)));
    run(got.data(), x.data(), x.data(), static_cast<long>(x.size()));
    double worst = 0;
    T worst_at = 0;
    int wrong_signs = 0;  // of zeros
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] < function.from || x[i] > function.to) {
        continue;
      }
      const Wide right = function.of_one(x[i]);
      const double error = ulps(got[i], right);
      if (error > worst) {
        worst = error;
        worst_at = x[i];
      }
      wrong_signs += right == 0 && std::signbit(got[i]) != std::signbit(right);
    }
    CAPTURE(std::string(function.name));
    CAPTURE(type);
    CAPTURE(worst_at);
    CHECK(worst <= limit);
    CHECK(wrong_signs == 0);
  }
  // Angles of points: all pairs of the special numbers first, then any, then some near the
  // diagonal.
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = i % 3 == 0 ? x[i] * static_cast<T>(1 + 0.01 * static_cast<double>(i % 50))
                      : x[(i * 7919 + 13) % x.size()];
  }
  constexpr size_t kSpecial = 40;
  std::vector<T> xs = x;
  for (size_t i = 0; i < kSpecial * kSpecial; ++i) {
    xs[i] = x[i % kSpecial];
    y[i] = x[i / kSpecial];
  }
  auto run = reinterpret_cast<Run<T>>(object.symbol("simdAtan2_" + type));
  run(got.data(), xs.data(), y.data(), static_cast<long>(xs.size()));
  double worst = 0;
  int wrong_signs = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Wide right = std::atan2(static_cast<Wide>(xs[i]), static_cast<Wide>(y[i]));
    worst = std::max(worst, ulps(got[i], right));
    wrong_signs += right == 0 && std::signbit(got[i]) != std::signbit(right);
  }
  CAPTURE(type);
  CHECK(worst <= 2.5);
  CHECK(wrong_signs == 0);
}

std::string files() {
  std::string all;
  for (const char* path : {"cpu/prelude.h", "cpu/simd.h", "cpu/simd_math.h", "cpu/simd_angles.h",
                           "cpu/simd_hyperbolic.h", "cpu/simd_error.h", "cpu/simd_gamma.h"}) {
    all += runtimeFile(path);
  }
  return all;
}

void checkWith(const std::vector<std::string>& more, int width) {
  HostCompileRequest request;
  request.text = files();
  for (const Function& function : kFunctions) {
    request.text +=
        loop<float>(function.name, text(function.name, "(simdLoad<", width, ">(x + i))"), width);
    if (function.limit_of_double > 0) {
      request.text += loop<double>(
          function.name, text(function.name, "(simdLoad<", width / 2, ">(x + i))"), width / 2);
    }
  }
  const auto of_two = [](int lanes) {
    return text("simdAtan2(simdLoad<", lanes, ">(x + i), simdLoad<", lanes, ">(y + i))");
  };
  request.text += loop<float>("simdAtan2", of_two(width), width);
  request.text += loop<double>("simdAtan2", of_two(width / 2), width / 2);
  request.flags = hostFlags(hostCompiler());
  request.flags.insert(request.flags.end(), more.begin(), more.end());
  SharedObject object = compileSharedObject(request);
  CAPTURE(width);
  checkFunctions<float>(object);
  checkFunctions<double>(object);
}

}  // namespace

TEST_CASE("cpu functions: vectors keep their accuracy") {
  for (const auto& flags : hostVariants()) {
    CAPTURE(join(flags, " "));
    checkWith(flags, 16);
  }
}
TEST_CASE("cpu functions: the same in half the width") { checkWith({}, 8); }

TEST_CASE("cpu functions: erf at its edges and at every float where its formula changes") {
  HostCompileRequest request;
  request.text = files() + R"(
extern "C" void run(float* y, const float* x, long n) {
  for (long i = 0; i < n; i += 8) simdStore(y + i, simdErf(simdLoad<8>(x + i)));
})";
  request.flags = hostFlags(hostCompiler());
  SharedObject object = compileSharedObject(request);
  auto run = reinterpret_cast<void (*)(float*, const float*, long)>(object.symbol("run"));
  std::vector<float> x = {0.f,
                          0x1p-149f,
                          0x1.8p-130f,
                          0x1p-126f,
                          0x1.fffffcp-127f,
                          1e-20f,
                          9.999999f,
                          88.8f,
                          1e10f,
                          1e30f,
                          3.4028235e38f,
                          std::numeric_limits<float>::infinity()};
  for (uint32_t nan : {0x7fc00000u, 0x7f800001u, 0x7fc00001u, 0x7fffffffu}) {
    x.push_back(std::bit_cast<float>(nan));
  }
  for (auto [from, to] : {std::pair(0.87f, 0.93f), std::pair(3.8f, 4.1f)}) {
    for (float at = from; at < to; at = std::nextafter(at, to)) {
      x.push_back(at);
    }
  }
  x.resize((x.size() + 7) / 8 * 8, 1.f);
  std::vector<float> minus(x.size()), y(x.size()), of_minus(x.size());
  std::transform(x.begin(), x.end(), minus.begin(), [](float v) { return -v; });
  run(y.data(), x.data(), static_cast<long>(x.size()));
  run(of_minus.data(), minus.data(), static_cast<long>(x.size()));
  double worst = 0;
  size_t not_odd = 0;
  size_t above_one = 0;
  for (size_t i = 0; i < x.size(); i++) {
    worst = std::max(worst, ulps(y[i], std::erf(static_cast<Wide>(x[i]))));
    const bool both_nan = std::isnan(y[i]) && std::isnan(of_minus[i]);
    not_odd += !both_nan && (of_minus[i] != -y[i] || !std::signbit(of_minus[i]));
    above_one += y[i] > 1;
  }
  CHECK(worst <= 1.8);
  CHECK(not_odd == 0);
  CHECK(above_one == 0);
}
