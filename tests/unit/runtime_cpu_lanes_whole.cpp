// Whole numbers of vectors (runtime/cpu/lanes_whole.h) against the C library and cpu/math.h, to the
// last bit.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <codegen/snippets.h>
#include <host_variants.h>
#include <runtime/host_compiler/host_compiler.h>
#include <support/text.h>

using namespace nvfuser;

namespace {

SharedObject compiled(const std::string& text, const std::vector<std::string>& more) {
  HostCompileRequest request;
  for (const char* path : {"cpu/prelude.h", "cpu/half.h", "cpu/bf16.h", "cpu/simd.h", "cpu/math.h",
                           "cpu/lanes.h", "cpu/lanes_whole.h"}) {
    request.text += runtimeFile(path);
  }
  request.text += text;
  request.flags = hostFlags(hostCompiler());
  request.flags.insert(request.flags.end(), more.begin(), more.end());
  return compileSharedObject(request);
}

/// Fractions around whole numbers, ties, ends of ranges, what is no number; in eights.
template <class T>
std::vector<T> numbers() {
  const T most = std::numeric_limits<T>::max();
  const T infinite = std::numeric_limits<T>::infinity();
  std::vector<T> values{0,
                        T(0.3),
                        T(0.5),
                        T(0.75),
                        1,
                        T(1.5),
                        T(2.5),
                        T(126.5),
                        127,
                        128,
                        255.5,
                        256,
                        32767.5,
                        65536,
                        T(8388607.5),
                        T(8388608),
                        T(16777216),
                        T(2147483520.0),
                        T(2147483648.0),
                        T(4503599627370495.5),
                        T(9223371487098961920.0),
                        T(9223372036854775808.0),
                        T(1e-30),
                        most,
                        infinite,
                        std::numeric_limits<T>::denorm_min(),
                        std::numeric_limits<T>::quiet_NaN()};
  for (int i = 0; i < 400; ++i) {
    values.push_back(std::ldexp(T(1) + T(i * 37 % 101) / 101, i % 40 - 8));
  }
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) {
    values.push_back(-values[i]);
  }
  while (values.size() % 8 != 0) {
    values.push_back(0);
  }
  return values;
}

template <class T>
bool sameNumber(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

template <class T>
void checkWhole(const std::string& type, const std::vector<std::string>& flags) {
  const std::vector<T> x = numbers<T>();
  const std::vector<std::pair<std::string, T (*)(T)>> functions{
      {"lanesWholeBelow", [](T v) { return std::floor(v); }},
      {"lanesWholeAbove", [](T v) { return std::ceil(v); }},
      {"lanesWholeInside", [](T v) { return std::trunc(v); }},
      {"lanesWholeNearest", [](T v) { return std::nearbyint(v); }}};
  for (const auto& [name, expected] : functions) {
    CAPTURE(name);
    SharedObject object =
        compiled(text("extern \"C\" void run(", type, "* y, const ", type, "* x, long n) {\n",
                      "  for (long i = 0; i < n; i += 8) {\n    lanesWrite(y + i, ", name,
                      "(lanesRead<8>(x + i, 8)), 8);\n  }\n}\n"),
                 flags);
    std::vector<T> y(x.size());
    reinterpret_cast<void (*)(T*, const T*, long)>(object.symbol("run"))(
        y.data(), x.data(), static_cast<long>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      CHECK(sameNumber(y[i], expected(x[i])));
    }
  }
}

/// A function of vectors, and the same of elements, on what is given.
template <class T, class To>
void checkAlike(const std::string& program, const std::vector<std::string>& flags,
                const std::vector<T>& x) {
  SharedObject object = compiled(program, flags);
  std::vector<To> vectors(x.size()), elements(x.size());
  using Run = void (*)(To*, const T*, long);
  reinterpret_cast<Run>(object.symbol("vectors"))(vectors.data(), x.data(),
                                                  static_cast<long>(x.size()));
  reinterpret_cast<Run>(object.symbol("elements"))(elements.data(), x.data(),
                                                   static_cast<long>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    CAPTURE(x[i]);
    if constexpr (std::is_floating_point_v<To>) {
      CHECK(sameNumber(vectors[i], elements[i]));
    } else {
      CHECK(vectors[i] == elements[i]);
    }
  }
}

template <class T, class To>
void checkCut(const std::string& from, const std::string& to,
              const std::vector<std::string>& flags) {
  CAPTURE(text(from, " to ", to));
  checkAlike<T, To>(
      text("extern \"C\" void vectors(", to, "* y, const ", from, "* x, long n) {\n",
           "  for (long i = 0; i < n; i += 8) lanesWrite(y + i, lanesWholeOf<", to,
           ">(lanesRead<8>(x + i, 8)), 8);\n}\n", "extern \"C\" void elements(", to, "* y, const ",
           from, "* x, long n) {\n  for (long i = 0; i < n; i++) y[i] = toInteger<", to,
           ">(x[i]);\n}\n"),
      flags, numbers<T>());
}

}  // namespace

TEST_CASE("cpu lanes: floor, ceil, trunc and round") {
  for (const auto& flags : hostVariants()) {
    checkWhole<float>("float", flags);
    checkWhole<double>("double", flags);
  }
}

TEST_CASE("cpu lanes: remainders") {
  for (const auto& flags : hostVariants()) {
    for (const char* divisor :
         {"6.0f", "-6.0f", "0.1f", "1e-20f", "3e38f", "0.0f", "__builtin_inff()"}) {
      CAPTURE(divisor);
      for (const auto& [ours, theirs] : {std::pair{"lanesWholeRest", "floorMod"},
                                         std::pair{"lanesWholeCut", "__builtin_fmodf"}}) {
        checkAlike<float, float>(
            text("extern \"C\" void vectors(float* y, const float* x, long n) {\n",
                 "  for (long i = 0; i < n; i += 8) lanesWrite(y + i, ", ours,
                 "(lanesRead<8>(x + i, 8), simdFill<8>(", divisor, ")), 8);\n}\n",
                 "extern \"C\" void elements(float* y, const float* x, long n) {\n",
                 "  for (long i = 0; i < n; i++) y[i] = ", theirs, "(x[i], ", divisor, ");\n}\n"),
            flags, numbers<float>());
      }
    }
  }
}

TEST_CASE("cpu lanes: floats cut to integers") {
  for (const auto& flags : hostVariants()) {
    checkCut<float, int32_t>("float", "i32", flags);
    checkCut<float, int64_t>("float", "i64", flags);
    checkCut<float, uint8_t>("float", "u8", flags);
    checkCut<float, int8_t>("float", "i8", flags);
    checkCut<float, int16_t>("float", "i16", flags);
    checkCut<double, int32_t>("double", "i32", flags);
    checkCut<double, int64_t>("double", "i64", flags);
    checkCut<double, uint8_t>("double", "u8", flags);
  }
}
