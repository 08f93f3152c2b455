// Vectors of generated loops (runtime/cpu/lanes.h) against the same computation element by element,
// and what they may touch at a loop's end.
#include <doctest/doctest.h>

#include <algorithm>
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

SharedObject compiled(const std::string& text, const std::vector<std::string>& more = {}) {
  HostCompileRequest request;
  for (const char* path : {"cpu/prelude.h", "cpu/half.h", "cpu/bf16.h", "cpu/simd.h", "cpu/lanes.h",
                           "cpu/simd_math.h", "cpu/simd_pow.h"}) {
    request.text += runtimeFile(path);
  }
  request.text += text;
  request.flags = hostFlags(hostCompiler());
  request.flags.insert(request.flags.end(), more.begin(), more.end());
  return compileSharedObject(request);
}

}  // namespace

TEST_CASE("cpu lanes: the end of a loop touches nothing beyond") {
  for (const auto& flags : hostVariants()) {
    for (std::string type : {"u8", "u16", "float", "double", "i64", "half_t", "bf16_t"}) {
      CAPTURE(type);
      SharedObject object =
          compiled(text("extern \"C\" void run(", type, "* y, const ", type,
                        "* x, long n, int stream) {\n", "  auto v = lanesRead<8>(x, n);\n",
                        "  if (stream) { lanesStream(y, v, n); simdFence(); }\n",
                        "  else lanesWrite(y, v, n);\n}\n"),
                   flags);
      auto run = reinterpret_cast<void (*)(void*, const void*, long, int)>(object.symbol("run"));
      const size_t size = type == "u8"                                   ? 1
                          : type.ends_with("16") || type.ends_with("_t") ? 2
                          : type == "float"                              ? 4
                                                                         : 8;
      for (int stream : {0, 1}) {
        for (size_t n = 0; n <= 8; ++n) {
          for (size_t offset : {0, 1, 3}) {
            std::vector<unsigned char> x(256), y(256, 0xee);
            for (size_t i = 0; i < x.size(); ++i) {
              x[i] = static_cast<unsigned char>(i + 1);
            }
            unsigned char* to = y.data() + 64 + offset * size;
            run(to, x.data() + 64, static_cast<long>(n), stream);
            int wrong = 0;
            for (size_t i = 0; i < y.size(); ++i) {
              const size_t at = i - 64 - offset * size;
              wrong += y[i] != (i >= 64 + offset * size && at < n * size ? x[64 + at] : 0xee);
            }
            CAPTURE(n);
            CHECK(wrong == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("cpu lanes: a window touches nothing outside of it") {
  for (const auto& flags : hostVariants()) {
    for (const auto& [type, width] : std::vector<std::pair<std::string, long>>{
             {"u8", 16}, {"u16", 8}, {"u16", 16}, {"float", 8}, {"float", 16}, {"double", 8}}) {
      CAPTURE(type);
      CAPTURE(width);
      SharedObject object =
          compiled(text("extern \"C\" void run(", type, "* y, const ", type,
                        "* x, long i, long a, long b) {\n", "  lanesWrite(y, lanesWindow<", width,
                        ">(x, i, a, b, simdFill<", width, ">((", type, ")7)), ", width, ");\n}\n"),
                   flags);
      auto run =
          reinterpret_cast<void (*)(void*, const void*, long, long, long)>(object.symbol("run"));
      const size_t size = type == "u8" ? 1 : type == "u16" ? 2 : type == "float" ? 4 : 8;
      constexpr long kPlace = 3;  // of the first lane; what is in front of it is not zero
      std::vector<unsigned char> x(static_cast<size_t>(kPlace + width) * size, 0);
      std::fill_n(x.begin(), kPlace * size, 1);
      for (long first = -9; first <= width + 1; ++first) {
        for (long end = -9; end <= width + 9; ++end) {
          CAPTURE(first);
          CAPTURE(end);
          std::vector<unsigned char> y(static_cast<size_t>(width) * size, 0xee);
          // Where nothing is read, there need be no memory, and the place may be any.
          const bool none = std::max(first, 0L) >= std::min(end, width);
          run(y.data(), none ? nullptr : x.data(), none ? -kPlace : kPlace, first, end);
          int wrong = 0;
          for (long e = 0; e < width; ++e) {
            const auto begin = y.begin() + e * static_cast<long>(size);
            const bool is_zero =
                std::all_of(begin, begin + static_cast<long>(size), [](int b) { return b == 0; });
            wrong += is_zero != (first <= e && e < end);
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("cpu lanes: a place is compared with a bound, however far") {
  for (const auto& flags : hostVariants()) {
    SharedObject object = compiled(
        R"(extern "C" void run(bool* below, bool* up_to, long place, long bound) {
  lanesWrite(below, lanesBelow<8>(place, bound), 8);
  lanesWrite(up_to, lanesUpTo<8>(place, bound), 8);
})",
        flags);
    auto run = reinterpret_cast<void (*)(bool*, bool*, long, long)>(object.symbol("run"));
    constexpr long kLeast = std::numeric_limits<long>::min();
    constexpr long kMost = std::numeric_limits<long>::max();
    for (long place : {kLeast, -9L, -3L, 0L, 5L, kMost - 7}) {
      for (long bound : {kLeast, kLeast + 3, -9L, -4L, -1L, 0L, 2L, 8L, 9L, kMost - 3, kMost}) {
        CAPTURE(place);
        CAPTURE(bound);
        bool below[8];
        bool up_to[8];
        run(below, up_to, place, bound);
        int wrong = 0;
        for (int e = 0; e < 8; ++e) {
          wrong += below[e] != (place + e < bound) || up_to[e] != (place + e <= bound);
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("cpu lanes: truth values are 0 and -1 in registers, 0 and 1 in memory") {
  for (const auto& flags : hostVariants()) {
    SharedObject object = compiled(
        R"(extern "C" void run(bool* y, double* z, const double* a, const bool* b) {
  auto x = lanesRead<8>(a, 8);
  auto t = lanesTruth(x > 0.0) & lanesRead<8>(b, 8);
  lanesWrite(y, t, 8);
  lanesWrite(z, lanesSelect(t, x, simdFill<8>(lanesOne<double>(-2.0))), 8);
})",
        flags);
    auto run = reinterpret_cast<void (*)(bool*, double*, const double*, const bool*)>(
        object.symbol("run"));
    const double a[8] = {1, -1, 2, 0, 3, std::nan(""), 4, 5};
    const bool b[8] = {true, true, false, true, true, true, true, false};
    double z[8];
    unsigned char y[8];
    run(reinterpret_cast<bool*>(y), z, a, b);
    for (int i = 0; i < 8; ++i) {
      const bool right = a[i] > 0 && b[i];
      CHECK(y[i] == (right ? 1 : 0));
      CHECK(z[i] == (right ? a[i] : -2.0));
    }
  }
}

TEST_CASE("cpu lanes: truth values beside bytes, as many as a register has") {
  for (const auto& flags : hostVariants()) {
    for (int width : {4, 16, 32, 64}) {
      CAPTURE(width);
      std::vector<std::string> with = flags;
      with.push_back("-DMANY=" + std::to_string(width));
      SharedObject object = compiled(
          R"(extern "C" void run(bool* y, u8* z, const u8* a, const bool* b, long n) {
  auto x = lanesRead<MANY>(a, n);
  auto t = lanesTruth(x > lanesFill<u8, MANY>(100)) & lanesRead<MANY>(b, n) & lanesBelow<MANY>(1, MANY);
  lanesWrite(y, lanesSelect(t, lanesFill<bool, MANY>(true), ~lanesRead<MANY>(b, n)), n);
  lanesWrite(z, lanesSelect(t, x, lanesFill<u8, MANY>(7)), n);
})",
          with);
      auto run = reinterpret_cast<void (*)(bool*, unsigned char*, const unsigned char*, const bool*,
                                           long)>(object.symbol("run"));
      std::vector<unsigned char> a(width), z(width), y(width, 9);
      std::vector<unsigned char> b(width);
      for (int i = 0; i < width; ++i) {
        a[i] = static_cast<unsigned char>(i * 37 + 90);
        b[i] = i % 3 != 0;
      }
      const int last = width - 1;  // a part of the last vector
      run(reinterpret_cast<bool*>(y.data()), z.data(), a.data(),
          reinterpret_cast<const bool*>(b.data()), last);
      int wrong = y[last] != 9;
      for (int i = 0; i < last; ++i) {
        const bool right = a[i] > 100 && b[i] && i + 1 < width;
        wrong += y[i] != (right || !b[i]) || z[i] != (right ? a[i] : 7);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("cpu lanes: integers wrap") {
  for (const auto& flags : hostVariants()) {
    SharedObject object = compiled(
        R"(extern "C" void run(i32* y, const i32* a, const i32* b) {
  auto x = lanesRead<4>(a, 4), z = lanesRead<4>(b, 4);
  lanesWrite(y, lanesAdd(x, z), 4);
  lanesWrite(y + 4, lanesSub(x, z), 4);
  lanesWrite(y + 8, lanesMul(x, z), 4);
})",
        flags);
    auto run =
        reinterpret_cast<void (*)(int32_t*, const int32_t*, const int32_t*)>(object.symbol("run"));
    const int32_t a[4] = {INT32_MAX, INT32_MIN, 7, -5};
    const int32_t b[4] = {1, 1, INT32_MAX, INT32_MIN};
    int32_t y[12];
    run(y, a, b);
    for (int i = 0; i < 4; ++i) {
      const auto p = static_cast<uint32_t>(a[i]), q = static_cast<uint32_t>(b[i]);
      CHECK(y[i] == static_cast<int32_t>(p + q));
      CHECK(y[i + 4] == static_cast<int32_t>(p - q));
      CHECK(y[i + 8] == static_cast<int32_t>(p * q));
    }
  }
}

TEST_CASE("cpu snippets: powers are within 1.5 units of the last place") {
  for (const auto& flags : hostVariants()) {
    SharedObject object = compiled(
        R"(extern "C" void run(float* z, const float* x, const float* y, long n) {
  for (long i = 0; i < n; i += 16) lanesWrite(z + i, simdPow(lanesRead<16>(x + i, 16), lanesRead<16>(y + i, 16)), 16);
})",
        flags);
    auto run =
        reinterpret_cast<void (*)(float*, const float*, const float*, long)>(object.symbol("run"));
    constexpr float inf = std::numeric_limits<float>::infinity();
    const float special[] = {0.f,  -0.f, 1.f,  -1.f,      2.f,   -2.f,  inf,           -inf,
                             0.5f, 3.f,  -3.f, 0x1p-149f, 1e30f, -0.5f, std::nanf(""), 1.5f};
    std::vector<float> x, y;
    for (float a : special) {
      for (float b : special) {
        x.push_back(a);
        y.push_back(b);
      }
    }
    // Whole vectors of bases below 0 and zeros, to exponents that are odd, even and no integers.
    for (float exponent : {-3.f, -2.f, -0.5f, 0.f, 1.f, 2.5f, 4.f, 5.f, 16777215.f, 16777216.f}) {
      for (int i = 0; i < 64; ++i) {
        x.push_back(i % 5 == 0 ? (i % 2 == 0 ? 0.f : -0.f) : static_cast<float>(i - 48) / 7.f);
        y.push_back(exponent);
      }
    }
    for (int i = 0; i < 1 << 17; ++i) {
      const double base = std::exp((i % 1021) / 1021.0 * 170 - 85);
      const double limit = i % 3 == 0 ? 300 : 87 / std::fabs(std::log(base) + 1e-9);
      x.push_back(static_cast<float>(base));
      y.push_back(static_cast<float>(((i * 7919) % 20011 / 10005.5 - 1) * std::min(limit, 1e6)));
    }
    std::vector<float> z(x.size());
    run(z.data(), x.data(), y.data(), static_cast<long>(x.size()));
    double worst = 0;
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double right = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
      const auto nearest = static_cast<float>(right);
      if (std::isnan(right) || std::isinf(nearest) || std::isinf(z[i])) {
        wrong += std::isnan(right) ? !std::isnan(z[i]) : z[i] != nearest;
        continue;
      }
      int exponent = 0;
      std::frexp(right, &exponent);
      worst = std::max(worst, std::fabs(static_cast<double>(z[i]) - right) /
                                  std::ldexp(1.0, std::max(exponent - 24, -149)));
    }
    CHECK(wrong == 0);
    CHECK(worst <= 1.5);
  }
}
