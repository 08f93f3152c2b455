// Numbers of elements that no vector divides: the last access goes element by element, and
// neighbours still share a block of random numbers.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

const std::vector<std::vector<int64_t>> kSizes{{1, 1},    {1, 7},    {3, 3},    {129, 127},
                                               {511, 63}, {64, 128}, {255, 257}};

/// Twice each size, and the numbers of columns where `columns`.
std::vector<std::vector<Input>> pairs(DataType dtype, bool columns) {
  std::vector<std::vector<Input>> runs;
  for (const auto& sizes : kSizes) {
    runs.push_back({{sizes, dtype}, {columns ? std::vector<int64_t>{sizes[1]} : sizes, dtype}});
  }
  return runs;
}

}  // namespace

TEST_CASE("odd sizes: element-wise, dense") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Double, DataType::Half}) {
    CAPTURE(dtype);
    const Define product = [=](Fusion& fusion) {
      TensorView* x = wide(input(fusion, 2, dtype));
      output(fusion, mul(x, wide(input(fusion, 2, dtype))), dtype);
    };
    check(product, pairs(dtype, false), "pointwise");
  }
}

TEST_CASE("odd sizes: element-wise, with what is broadcast along rows") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16}) {
    CAPTURE(dtype);
    const Define biased = [=](Fusion& fusion) {
      TensorView* x = wide(input(fusion, 2, dtype));
      TensorView* bias = broadcast(wide(input(fusion, 1, dtype)), {true, false});
      output(fusion, relu(add(x, bias)), dtype);
    };
    check(biased, pairs(dtype, true), "pointwise");
  }
}

TEST_CASE("odd sizes: neighbours pass the end of an axis once, several times where it is short") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16}) {
    CAPTURE(dtype);
    const Define channels = [=](Fusion& fusion) {
      TensorView* x = wide(input(fusion, 3, dtype));
      TensorView* of_channel = broadcast(wide(input(fusion, 1, dtype)), {true, false, true});
      TensorView* of_column = broadcast(wide(input(fusion, 1, dtype)), {true, true, false});
      output(fusion, add(mul(x, of_channel), of_column), dtype);
    };
    std::vector<std::vector<Input>> runs;
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
             {33, 19, 67}, {33, 9, 131}, {129, 8, 33}, {800, 3, 15}, {257, 33, 3}, {5000, 1, 7}}) {
      runs.push_back({{sizes, dtype}, {{sizes[1]}, dtype}, {{sizes[2]}, dtype}});
    }
    check(channels, runs, "pointwise");
  }
}

TEST_CASE("odd sizes: whole vectors where memory is one run, with one kernel for odd and even") {
  Device* device = testDevices().back();
  Program program(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        fusion.addOutput(neg(x));
      },
      *device);
  const int64_t rows = 4 * 128 * device->properties().multiprocessors + 1;
  program.run({{{rows, 3}}});
  CHECK(program.cache().report().find("V 4") != std::string::npos);
  program.run({{{rows, 4}}});
  program.run({{{rows, 5}}});
  CHECK(program.cache().numKernelsMade() == 1);
}

TEST_CASE("odd sizes: random numbers of rows read in vectors, and of odd rows") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Double}) {
    CAPTURE(dtype);
    for (bool normal : {false, true}) {
      const Define noisy = [=](Fusion& fusion) {
        TensorView* x = wide(input(fusion, 2, dtype));
        Val* seed = IrBuilder::create<Val>(int64_t{11});
        Val* offset = IrBuilder::create<Val>(int64_t{5});
        TensorView* noise = normal ? randn_like(x, seed, offset) : rand_like(x, seed, offset);
        TensorView* sum = add(x, noise);
        output(fusion, div(sum, broadcast(max(abs(sum), {1}), {false, true})), dtype);
      };
      check(noisy, {{{{5, 1024}, dtype}}, {{{7, 333}, dtype}}, {{{2, 4098}, dtype}}});
    }
  }
}
