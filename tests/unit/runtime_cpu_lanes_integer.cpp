// Integers of vectors (runtime/cpu/lanes_integer.h) against cpu/math.h, for each width and sign,
// with the CPU's own instructions and without.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <codegen/snippets.h>
#include <host_variants.h>
#include <runtime/host_compiler/host_compiler.h>
#include <support/text.h>

using namespace nvfuser;

namespace {

struct Function {
  const char* lanes;
  const char* element;
};
constexpr std::array<Function, 8> kFunctions{{
    {"lanesIntShiftLeft(a, b)", "shiftLeft(a, b)"},
    {"lanesIntShiftRight(a, b)", "shiftRight(a, b)"},
    {"lanesIntShiftLogical(a, b)", "shiftRightLogical(a, b)"},
    {"lanesIntQuotient(a, b)", "truncDiv(a, b)"},
    {"lanesIntRest(a, b)", "truncMod(a, b)"},
    {"lanesIntFloorRest(a, b)", "floorMod(a, b)"},
    {"lanesIntMagnitude(a)", "T(a < 0 ? 0 - (u64)a : (u64)a)"},
    {"lanesIntClamp(a, b, b + 3)", "minNan(maxNan(a, b), T(b + 3))"},
}};

SharedObject compiled(const std::string& type, const std::vector<std::string>& flags) {
  HostCompileRequest request;
  for (const char* path : {"cpu/prelude.h", "cpu/half.h", "cpu/bf16.h", "cpu/simd.h", "cpu/math.h",
                           "cpu/lanes.h", "cpu/lanes_integer.h"}) {
    request.text += runtimeFile(path);
  }
  request.text += text("using T = ", type, ";\n");
  for (size_t i = 0; i < kFunctions.size(); ++i) {
    request.text +=
        text("extern \"C\" void lanes", i, "(T* y, const T* x, const T* z, long n) {\n",
             "  for (long i = 0; i < n; i += 16) {\n",
             "    const auto a = lanesRead<16>(x + i, 16), b = lanesRead<16>(z + i, 16);\n",
             "    lanesWrite(y + i, ", kFunctions[i].lanes, ", 16);\n  }\n}\n",
             "extern \"C\" void each", i, "(T* y, const T* x, const T* z, long n) {\n",
             "  for (long i = 0; i < n; i++) {\n    const T a = x[i], b = z[i];\n",
             "    y[i] = ", kFunctions[i].element, ";\n  }\n}\n");
  }
  request.flags = hostFlags(hostCompiler());
  request.flags.insert(request.flags.end(), flags.begin(), flags.end());
  return compileSharedObject(request);
}

/// Ends of the range, small numbers, powers of two and what is next to them.
template <class T>
std::vector<T> numbers() {
  std::vector<T> values;
  for (int i = -9; i <= 9; ++i) {
    values.push_back(static_cast<T>(i));
    values.push_back(static_cast<T>(std::numeric_limits<T>::max() - static_cast<T>(i + 9)));
    values.push_back(static_cast<T>(std::numeric_limits<T>::min() + static_cast<T>(i + 9)));
  }
  for (int bit = 4; bit < static_cast<int>(sizeof(T) * 8); ++bit) {
    for (int near = -1; near <= 1; ++near) {
      const auto value = static_cast<T>((uint64_t{1} << bit) + static_cast<uint64_t>(near));
      values.push_back(value);
      values.push_back(static_cast<T>(uint64_t{0} - static_cast<uint64_t>(value)));
      values.push_back(static_cast<T>(static_cast<uint64_t>(value) * 2654435761U));
    }
  }
  return values;
}

template <class T>
void compare(const std::string& type) {
  std::vector<T> x, z;
  for (const T a : numbers<T>()) {
    for (const T b : numbers<T>()) {
      x.push_back(a);
      z.push_back(b);
    }
  }
  while (x.size() % 16 != 0) {
    x.push_back(0);
    z.push_back(0);
  }
  for (const auto& flags : hostVariants()) {
    const SharedObject object = compiled(type, flags);
    for (size_t i = 0; i < kFunctions.size(); ++i) {
      std::vector<T> lanes(x.size()), each(x.size());
      using Run = void (*)(T*, const T*, const T*, long);
      const auto count = static_cast<long>(x.size());
      reinterpret_cast<Run>(object.symbol(text("lanes", i)))(lanes.data(), x.data(), z.data(),
                                                             count);
      reinterpret_cast<Run>(object.symbol(text("each", i)))(each.data(), x.data(), z.data(), count);
      int wrong = 0;
      for (size_t at = 0; at < x.size() && wrong == 0; ++at) {
        if (lanes[at] != each[at]) {
          wrong = 1;
          FAIL_CHECK(kFunctions[i].lanes << " of " << type << " " << std::to_string(x[at])
                                         << " and " << std::to_string(z[at]) << ": "
                                         << std::to_string(lanes[at]) << ", not "
                                         << std::to_string(each[at]));
        }
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace

TEST_CASE("cpu lanes: shifts, quotients and remainders of integers") {
  compare<int8_t>("i8");
  compare<uint8_t>("u8");
  compare<int16_t>("i16");
  compare<uint16_t>("u16");
  compare<int32_t>("i32");
  compare<uint32_t>("u32");
  compare<int64_t>("i64");
  compare<uint64_t>("u64");
}
