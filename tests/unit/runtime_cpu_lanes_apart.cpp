// Vectors of elements that do not lie side by side (runtime/cpu/lanes_apart.h), and of 8-bit floats
// (runtime/cpu/simd_fp8.h), against the same element by element.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstdint>
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
  for (const char* path : {"cpu/prelude.h", "cpu/half.h", "cpu/bf16.h", "cpu/fp8.h", "cpu/simd.h",
                           "cpu/lanes.h", "cpu/lanes_apart.h", "cpu/simd_fp8.h"}) {
    request.text += runtimeFile(path);
  }
  request.text += text;
  request.flags = hostFlags(hostCompiler());
  request.flags.insert(request.flags.end(), more.begin(), more.end());
  return compileSharedObject(request);
}

size_t sizeOf(const std::string& type) {
  return type == "u8" ? 1 : type == "half_t" ? 2 : type == "float" ? 4 : 8;
}

}  // namespace

TEST_CASE("cpu lanes: elements a few apart, from the first or from the last one on") {
  for (const auto& flags : hostVariants()) {
    for (std::string type : {"u8", "half_t", "float", "double"}) {
      for (int stride : {2, 3, 4, -2, -3, -4}) {
        CAPTURE(type);
        CAPTURE(stride);
        const auto distance = static_cast<size_t>(std::abs(stride));
        SharedObject object =
            compiled(text("extern \"C\" void run(", type, "* y, const ", type, "* x, long n) {\n",
                          "  lanesWrite(y, ", stride > 0 ? "lanesStrided" : "lanesStridedBack",
                          "<8, ", distance, ">(x, n), n);\n}\n"),
                     flags);
        auto run = reinterpret_cast<void (*)(void*, const void*, long)>(object.symbol("run"));
        const size_t size = sizeOf(type);
        for (size_t n = 0; n <= 8; ++n) {
          // The elements at both ends are at the ends of what may be read.
          const size_t last = n == 0 ? 0 : (n - 1) * distance;
          std::vector<unsigned char> x(n == 0 ? 0 : (last + 1) * size), y(64, 0xee);
          for (size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<unsigned char>(i * 7 + 1);
          }
          run(y.data(), x.data() + (stride > 0 ? 0 : last * size), static_cast<long>(n));
          int wrong = 0;
          for (size_t i = 0; i < n * size; ++i) {
            const size_t from = i / size * distance;
            wrong += y[i] != x[(stride > 0 ? from : last - from) * size + i % size];
          }
          CAPTURE(n);
          CHECK(wrong == 0);
          CHECK(y[n * size == 64 ? 0 : n * size] == (n * size == 64 ? y[0] : 0xee));
        }
      }
    }
  }
}

TEST_CASE("cpu lanes: elements at a distance that a call knows") {
  for (const auto& flags : hostVariants()) {
    for (std::string type : {"u8", "half_t", "float", "double"}) {
      CAPTURE(type);
      SharedObject object =
          compiled(text("extern \"C\" void run(", type, "* y, const ", type,
                        "* x, long distance, long n) {\n",
                        "  lanesWrite(y, lanesSpaced<8>(x, distance, n), n);\n}\n"),
                   flags);
      auto run = reinterpret_cast<void (*)(void*, const void*, long, long)>(object.symbol("run"));
      const size_t size = sizeOf(type);
      for (const long distance : {0L, 1L, 2L, 3L, 4L, 5L, 17L, -1L, -3L}) {
        CAPTURE(distance);
        for (long n = 0; n <= 8; ++n) {
          CAPTURE(n);
          // Nothing but the elements may be read: they begin, or end, what there is.
          const long elements = n == 0 ? 0 : (n - 1) * std::abs(distance) + 1;
          std::vector<unsigned char> x(static_cast<size_t>(elements) * size), y(64, 0xee);
          for (size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<unsigned char>(i * 7 + 1);
          }
          const long first = distance < 0 ? std::max(elements - 1, 0L) : 0;
          run(y.data(), x.data() + static_cast<size_t>(first) * size, distance, n);
          int wrong = 0;
          for (long e = 0; e < n; ++e) {
            for (size_t byte = 0; byte < size; ++byte) {
              wrong += y[static_cast<size_t>(e) * size + byte] !=
                       x[static_cast<size_t>(first + e * distance) * size + byte];
            }
          }
          CHECK(wrong == 0);
          CHECK((n == 8 && size == 8) ==
                (y[std::min<size_t>(static_cast<size_t>(n) * size, 63)] != 0xee));
        }
      }
    }
  }
}

TEST_CASE("cpu lanes: elements in any order, and none beyond the last") {
  for (const auto& flags : hostVariants()) {
    for (std::string type : {"u8", "half_t", "float", "double"}) {
      CAPTURE(type);
      SharedObject object =
          compiled(text("extern \"C\" void run(", type, "* y, const ", type, "* x, long n) {\n",
                        "  lanesWrite(y, lanesEach<8, ", type,
                        ">(n, [&](int e) { return x[(e * 5 + 3) % 8]; }),", " 8);\n}\n"),
                   flags);
      auto run = reinterpret_cast<void (*)(void*, const void*, long)>(object.symbol("run"));
      const size_t size = sizeOf(type);
      std::vector<unsigned char> x(8 * size);
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<unsigned char>(i * 7 + 1);
      }
      for (size_t n = 0; n <= 9; ++n) {
        std::vector<unsigned char> y(8 * size, 0xee);
        run(y.data(), x.data(), static_cast<long>(n));
        int wrong = 0;
        for (size_t i = 0; i < y.size(); ++i) {
          const size_t e = i / size;
          wrong += y[i] != (e < n ? x[(e * 5 + 3) % 8 * size + i % size] : 0);
        }
        CAPTURE(n);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("cpu lanes: the same few elements over and over") {
  for (const auto& flags : hostVariants()) {
    for (std::string type : {"u8", "half_t", "float", "double"}) {
      for (int period : {2, 3, 5, 8}) {
        CAPTURE(type);
        CAPTURE(period);
        SharedObject object = compiled(
            text("extern \"C\" void run(", type, "* y, const ", type, "* x, long first) {\n",
                 "  lanesWrite(y, lanesPeriodic<8, ", period, ">(x, first), 8);\n}\n"),
            flags);
        auto run = reinterpret_cast<void (*)(void*, const void*, long)>(object.symbol("run"));
        const size_t size = sizeOf(type);
        for (int first = 0; first < period; ++first) {
          std::vector<unsigned char> x(static_cast<size_t>(period) * size), y(8 * size);
          for (size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<unsigned char>(i * 7 + 1);
          }
          run(y.data(), x.data(), first);
          int wrong = 0;
          for (size_t i = 0; i < y.size(); ++i) {
            const size_t element =
                (i / size + static_cast<size_t>(first)) % static_cast<size_t>(period);
            wrong += y[i] != x[element * size + i % size];
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("cpu lanes: elements picked at distances that the text knows") {
  const std::vector<std::vector<int>> patterns{{0, 1, 0, 1, 2, 3, 2, 3},
                                               {0, 0, 0, 1, 1, 1, 2, 2},
                                               {0, 1, 2, 3, 4, 5, 6, 7},
                                               {0, 100, 1, 101, 2, 102, 3, 103},
                                               {0, -1, 2, -3, 4, 3, 2, 1}};
  for (const auto& flags : hostVariants()) {
    for (std::string type : {"u8", "half_t", "float", "double"}) {
      for (const std::vector<int>& places : patterns) {
        SharedObject object =
            compiled(text("extern \"C\" void run(", type, "* y, const ", type, "* x, long n) {\n",
                          "  lanesWrite(y, lanesPicked<", join(places, ", "), ">(x, n), n);\n}\n"),
                     flags);
        auto run = reinterpret_cast<void (*)(void*, const void*, long)>(object.symbol("run"));
        const size_t size = sizeOf(type);
        const auto last = static_cast<size_t>(*std::max_element(places.begin(), places.end()));
        for (size_t n = 0; n <= 8; ++n) {
          // Nothing but the elements may be read: the last one ends what there is.
          std::vector<unsigned char> x((last + 4) * size), y(8 * size, 0xee);
          for (size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<unsigned char>(i * 7 + 1);
          }
          run(y.data(), x.data() + 3 * size, static_cast<long>(n));
          int wrong = 0;
          for (size_t i = 0; i < y.size(); ++i) {
            const size_t lane = i / size;
            const auto place = static_cast<size_t>(places[lane] + 3);
            wrong += y[i] != (lane < n ? x[place * size + i % size] : 0xee);
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("cpu lanes: places within periods, and the periods before them") {
  for (const auto& flags : hostVariants()) {
    for (int period : {2, 3, 7, 8, 9, 100}) {
      SharedObject object =
          compiled(text("extern \"C\" void run(int* y, int* z, long first) {\n",
                        "  lanesWrite(y, lanesInPeriod<8, ", period, ">(first), 8);\n",
                        "  lanesWrite(z, lanesInSteps<8, ", period, ">(first), 8);\n}\n"),
                   flags);
      auto run = reinterpret_cast<void (*)(int*, int*, long)>(object.symbol("run"));
      int wrong = 0;
      for (int first = 0; first < period; ++first) {
        std::array<int, 8> places{}, periods{};
        run(places.data(), periods.data(), first);
        for (int e = 0; e < 8; ++e) {
          wrong += places[static_cast<size_t>(e)] != (first + e) % period;
          wrong += periods[static_cast<size_t>(e)] != (first + e) / period;
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("cpu lanes: each element several times") {
  for (const auto& flags : hostVariants()) {
    for (std::string type : {"u8", "half_t", "float", "double"}) {
      for (size_t times : {2U, 4U, 8U}) {
        CAPTURE(type);
        CAPTURE(times);
        SharedObject object =
            compiled(text("extern \"C\" void run(", type, "* y, const ", type,
                          "* x, long first, long n) {\n  lanesWrite(y, lanesRepeated<8, ", times,
                          ">(x, first, n), n);\n}\n"),
                     flags);
        auto run = reinterpret_cast<void (*)(void*, const void*, long, long)>(object.symbol("run"));
        const size_t size = sizeOf(type);
        for (size_t first = 0; first < times; ++first) {
          for (size_t n : {8U, 3U, 1U}) {
            // Nothing but the elements may be read.
            std::vector<unsigned char> x(((first + n - 1) / times + 1) * size), y(n * size);
            for (size_t i = 0; i < x.size(); ++i) {
              x[i] = static_cast<unsigned char>(i * 7 + 1);
            }
            run(y.data(), x.data(), static_cast<long>(first), static_cast<long>(n));
            int wrong = 0;
            for (size_t i = 0; i < y.size(); ++i) {
              wrong += y[i] != x[(i / size + first) / times * size + i % size];
            }
            CHECK(wrong == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("cpu lanes: 8-bit floats are converted as one by one") {
  for (const auto& flags : hostVariants()) {
    for (std::string type : {"fp8_e4m3_t", "fp8_e5m2_t"}) {
      CAPTURE(type);
      SharedObject object =
          compiled(text("extern \"C\" void narrow(u8* one, u8* lanes, const float* x) {\n",
                        "  for (int e = 0; e < 8; e++) one[e] = ", type, "(x[e]).bits;\n",
                        "  *(SimdOf<u8, 8>::anywhere*)lanes = simdToFp8Bits<", type,
                        ">(lanesRead<8>(x, 8));\n}\n",
                        "extern \"C\" void widen(float* one, float* lanes, const u8* x) {\n",
                        "  for (int e = 0; e < 8; e++) one[e] = float(", type,
                        "::fromBits(x[e]));\n", "  lanesWrite(lanes, simdFromFp8Bits<", type,
                        ">(lanesRead<8>((const ", type, "*)x, 8)), 8);\n}\n"),
                   flags);
      auto narrow =
          reinterpret_cast<void (*)(uint8_t*, uint8_t*, const float*)>(object.symbol("narrow"));
      auto widen =
          reinterpret_cast<void (*)(float*, float*, const uint8_t*)>(object.symbol("widen"));
      int wrong = 0;
      for (int first = 0; first < 256; first += 8) {
        uint8_t bits[8];
        float one[8], lanes[8];
        for (int e = 0; e < 8; ++e) {
          bits[e] = static_cast<uint8_t>(first + e);
        }
        widen(one, lanes, bits);
        for (int e = 0; e < 8; ++e) {
          wrong += std::bit_cast<uint32_t>(one[e]) != std::bit_cast<uint32_t>(lanes[e]);
        }
      }
      CHECK(wrong == 0);
      wrong = 0;
      for (uint32_t high = 0; high < 1 << 17; high += 2) {  // ties and their neighbours among them
        float x[8];
        uint8_t one[8], lanes[8];
        for (uint32_t e = 0; e < 8; ++e) {
          const uint32_t low = e % 4 == 0 ? 0 : e % 4 == 1 ? 1 : e % 4 == 2 ? 0x3fff : 0x7fff;
          x[e] = std::bit_cast<float>(((high + e / 4) << 15) | low);
        }
        narrow(one, lanes, x);
        for (int e = 0; e < 8; ++e) {
          wrong += one[e] != lanes[e];
        }
      }
      CHECK(wrong == 0);
    }
  }
}
