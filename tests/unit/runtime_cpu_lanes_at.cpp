// Vectors read at indices from memory (runtime/cpu/lanes_at.h), in any order, against elements.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <codegen/snippets.h>
#include <host_variants.h>
#include <runtime/host_compiler/host_compiler.h>
#include <support/text.h>

using namespace nvfuser;

namespace {

SharedObject compiled(const std::string& type, int lanes, const std::vector<std::string>& flags) {
  HostCompileRequest request;
  for (const char* path : {"cpu/prelude.h", "cpu/half.h", "cpu/bf16.h", "cpu/simd.h", "cpu/lanes.h",
                           "cpu/index_range.h", "cpu/lanes_at.h"}) {
    request.text += runtimeFile(path);
  }
  request.text +=
      text("extern \"C\" void run(", type, "* y, const ", type,
           "* x, const i64* at, long n, long size, i64* wrong) {\n",
           "  IndexRange range{u64(size) - 1};\n", "  auto held = lanesHeld(range, lanesRead<",
           lanes, ">(at, n), n);\n", "  lanesWrite(y, lanesAt<", lanes,
           ">(x, held, n), n);\n  range.report(wrong, 1);\n}\n");
  request.flags = hostFlags(hostCompiler());
  request.flags.insert(request.flags.end(), flags.begin(), flags.end());
  return compileSharedObject(request);
}

template <class T>
void checkOrders(const std::string& type, int lanes, const std::vector<std::string>& flags) {
  CAPTURE(type);
  CAPTURE(lanes);
  SharedObject object = compiled(type, lanes, flags);
  auto run = reinterpret_cast<void (*)(T*, const T*, const int64_t*, long, long, int64_t*)>(
      object.symbol("run"));
  constexpr int64_t kSize = 40;
  std::vector<T> x(kSize);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(3 * i + 1);
  }
  const std::function<int64_t(int64_t)> orders[] = {
      [](int64_t e) { return e; },
      [](int64_t e) { return 39 - e; },
      [](int64_t) { return int64_t{7}; },
      [](int64_t e) { return e * 17 % 40; },
      [](int64_t e) { return e == 3 ? 11 : 5 + e; },       // ends as if side by side
      [](int64_t e) { return e == 2 ? 0 : 30 - e; },       // the same, backwards
      [](int64_t e) { return e < 4 ? 0 : e - 4; },         // a border repeated
      [](int64_t e) { return (e + 35) % 40; },             // around the end
      [](int64_t e) { return e == 1 ? int64_t{40} : e; },  // beyond: counts as the last
      [](int64_t e) { return e == 0 ? int64_t{-1} : e; },
  };
  for (size_t order = 0; order < std::size(orders); ++order) {
    CAPTURE(order);
    for (long n = 1; n <= lanes; ++n) {
      // What is behind the first n is neither read nor written, whatever it says.
      std::vector<int64_t> at(static_cast<size_t>(lanes), int64_t{1} << 60);
      std::vector<T> y(static_cast<size_t>(lanes), T{99});
      int64_t wrong[2] = {0, 0};
      for (long e = 0; e < n; ++e) {
        at[static_cast<size_t>(e)] = orders[order](e);
      }
      run(y.data(), x.data(), at.data(), n, kSize, wrong);
      bool outside = false;
      int differ = 0;
      for (size_t e = 0; e < y.size(); ++e) {
        const bool counts = static_cast<long>(e) < n;
        const bool inside = counts && at[e] >= 0 && at[e] < kSize;
        outside |= counts && !inside;
        const T right = !counts ? T{99} : x[inside ? static_cast<size_t>(at[e]) : kSize - 1];
        differ += y[e] != right;
      }
      CHECK(differ == 0);
      CHECK((wrong[0] == 1) == outside);
    }
  }
}

}  // namespace

TEST_CASE("cpu lanes: reads at indices in any order") {
  for (const auto& flags : hostVariants()) {
    for (const int lanes : {4, 8, 16}) {
      checkOrders<float>("float", lanes, flags);
      checkOrders<double>("double", lanes, flags);
      checkOrders<uint8_t>("u8", lanes, flags);
      checkOrders<uint16_t>("bf16_t", lanes, flags);
      checkOrders<int64_t>("i64", lanes, flags);
    }
  }
}
