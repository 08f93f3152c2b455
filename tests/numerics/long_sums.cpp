// Sums of many elements: added up one by one they lose digits, so the CPU adds up chunks.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

void checkChunks(const Define& define, const std::vector<std::vector<int64_t>>& long_ones,
                 const std::vector<int64_t>& short_one) {
  Program program(define, cpuDevice());
  for (const std::vector<int64_t>& sizes : long_ones) {
    CAPTURE(sizes[0]);
    CAPTURE(sizes[1]);
    program.run({{sizes}});
    CHECK(program.cache().report().find("chunks of 256") != std::string::npos);
  }
  program.run({{short_one}});
  CHECK(program.kernels() == 1);
}

/// Sum, greatest, and variance with the mean, over one axis.
Define over(int64_t axis) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 2, DataType::Float);
    TensorView* away = add(x, IrBuilder::create<Val>(3.0));  // a mean that is not lost in the noise
    fusion.addOutput(sum(away, {axis}));
    fusion.addOutput(max(x, {axis}));
    fusion.addOutput(variance(away, {axis}, int64_t{1}, false));
  };
}

}  // namespace

TEST_CASE("long sums: of columns, whole chunks and parts of one") {
  checkChunks(over(0), {{300000, 3}, {8193, 40}, {8448, 17}}, {8000, 3});
}

TEST_CASE("long sums: of rows, in vectors and one by one") {
  checkChunks(over(1), {{2, 1000003}, {1, 1048576}}, {3, 5000});
}

TEST_CASE("long sums: both axes, with what is computed from them") {
  checkChunks(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* total = sum(mul(x, x), {0, 1});
        fusion.addOutput(mul(x, rsqrt(broadcast(total, {true, true}))));
      },
      {{1000, 1001}, {2, 700000}}, {30, 40});
}
