// Tiles turned in registers (runtime/cpu/turn.h) against the definition, for each element size and
// each width of registers.
#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <codegen/snippets.h>
#include <host_variants.h>
#include <runtime/host_compiler/host_compiler.h>
#include <support/text.h>

using namespace nvfuser;

TEST_CASE("cpu turn: a tile over its diagonal") {
  struct Shape {
    int m, n, dst_row, src_row;
  };
  const Shape shapes[] = {{16, 16, 16, 16}, {32, 32, 32, 32}, {16, 64, 64, 16}, {64, 16, 20, 70},
                          {3, 5, 5, 3},     {16, 24, 24, 17}, {10, 16, 16, 10}, {16, 10, 10, 16},
                          {16, 2, 2, 16},   {7, 16, 16, 7},   {33, 16, 16, 33}, {16, 21, 21, 16}};
  for (const auto& flags : hostVariants()) {
    HostCompileRequest request;
    for (const char* path :
         {"cpu/prelude.h", "cpu/half.h", "cpu/bf16.h", "cpu/simd.h", "cpu/turn.h"}) {
      request.text += runtimeFile(path);
    }
    for (const char* type : {"u8", "u16", "float", "double", "bf16_t"}) {
      int number = 0;
      for (const Shape& shape : shapes) {
        request.text += text("extern \"C\" void turn_", type, number++, "(", type, "* y, const ",
                             type, "* x) { lanesTurn<", shape.m, ", ", shape.n, ">(y, ",
                             shape.dst_row, ", x, ", shape.src_row, "); }\n");
      }
    }
    request.flags = hostFlags(hostCompiler());
    request.flags.insert(request.flags.end(), flags.begin(), flags.end());
    SharedObject object = compileSharedObject(request);
    for (auto [type, size] : std::vector<std::pair<std::string, size_t>>{
             {"u8", 1}, {"u16", 2}, {"float", 4}, {"double", 8}, {"bf16_t", 2}}) {
      CAPTURE(type);
      int number = 0;
      for (const Shape& shape : shapes) {
        CAPTURE(number);
        auto run = reinterpret_cast<void (*)(void*, const void*)>(
            object.symbol(text("turn_", type, number++).c_str()));
        const auto count = [](int rows, int row, int columns) {
          return static_cast<size_t>((rows - 1) * row + columns);
        };
        std::vector<unsigned char> x(count(shape.n, shape.src_row, shape.m) * size);
        std::iota(x.begin(), x.end(), static_cast<unsigned char>(1));
        std::vector<unsigned char> y(count(shape.m, shape.dst_row, shape.n) * size, 0xee);
        std::vector<unsigned char> expected = y;
        for (int m = 0; m < shape.m; ++m) {
          for (int n = 0; n < shape.n; ++n) {
            std::memcpy(&expected[static_cast<size_t>(m * shape.dst_row + n) * size],
                        &x[static_cast<size_t>(n * shape.src_row + m) * size], size);
          }
        }
        run(y.data(), x.data());
        CHECK(y == expected);
      }
    }
  }
}
