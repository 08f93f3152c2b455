// Fusions whose tensors lie in memory along different axes.
#include <random>

#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

/// relu(x + y) transposed: two inputs are computed along their rows, one output is turned.
Define addReluTransposed(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, dtype));
    TensorView* y = wide(input(fusion, 2, dtype));
    output(fusion, transpose(relu(add(x, y)), 0, 1), dtype);
  };
}

/// x + yᵀ: one input is turned.
Define addTransposed(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, dtype));
    TensorView* y = wide(input(fusion, 2, dtype));
    output(fusion, add(x, transpose(y, 0, 1)), dtype);
  };
}

const std::vector<std::vector<int64_t>> kSizes{{64, 64},  {128, 96}, {33, 70},
                                               {257, 37}, {40, 300}, {61, 264}};

}  // namespace

TEST_CASE("scheduler transpose: sizes and dtypes") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Half, DataType::Double}) {
    CAPTURE(dtype);
    std::vector<std::vector<Input>> turned_output;
    std::vector<std::vector<Input>> turned_input;
    for (const auto& size : kSizes) {
      turned_output.push_back({{size, dtype}, {size, dtype}});
      turned_input.push_back({{size, dtype}, {{size[1], size[0]}, dtype}});
    }
    check(addReluTransposed(dtype), turned_output, "transpose");
    check(addTransposed(dtype), turned_input, "transpose");
  }
}

TEST_CASE("scheduler transpose: one kernel serves many shapes") {
  constexpr uint64_t kSeed = 7;
  CAPTURE(kSeed);
  std::mt19937_64 random(kSeed);
  for (Device* device : testDevices()) {
    Program program(addReluTransposed(DataType::BFloat16), *device);
    for (int i = 0; i < 12; ++i) {
      const auto rows = static_cast<int64_t>(random() % 300);
      const auto columns = static_cast<int64_t>(random() % 300);
      program.run({{{rows, columns}, DataType::BFloat16}, {{rows, columns}, DataType::BFloat16}});
      CHECK(program.kernels() <= 1);
    }
    CHECK(program.cache().numKernelsMade() <= 12);
  }
}

TEST_CASE("scheduler transpose: axes that move together, strides, broadcasts and mixed dtypes") {
  // Channels first to channels last and back.
  auto permuted = [](std::vector<int64_t> order, DataType dtype) {
    return [=](Fusion& fusion) {
      TensorView* x = wide(input(fusion, 4, dtype));
      output(fusion, permute(relu(x), order), dtype);
    };
  };
  for (DataType dtype : {DataType::Float, DataType::BFloat16}) {
    check(permuted({0, 2, 3, 1}, dtype), {{{{3, 24, 7, 9}, dtype}}, {{{1, 64, 8, 8}, dtype}}},
          "transpose");
    check(permuted({0, 3, 1, 2}, dtype), {{{{3, 7, 9, 40}, dtype}}, {{{2, 8, 8, 64}, dtype}}},
          "transpose");
    check(permuted({3, 2, 1, 0}, dtype), {{{{24, 3, 5, 33}, dtype}}}, "transpose");
  }
  // An input whose strides are only known at run time.
  auto strided = [](Fusion& fusion) {
    TensorView* x = makeSymbolicTensor(2);
    fusion.addInput(x);
    fusion.addOutput(relu(x));
  };
  check(strided, {{{{96, 80}, DataType::Float, {1, 100}}}, {{{96, 80}, DataType::Float, {1, 96}}}},
        "transpose");
  // Both kinds of outputs, a bias along either side, a scalar, dtypes of three sizes.
  auto mixed = [](Fusion& fusion) {
    TensorView* x = castOp(DataType::Float, input(fusion, 2, DataType::BFloat16));
    TensorView* y = input(fusion, 2, DataType::Float);
    TensorView* rows = input(fusion, 1, DataType::Double);
    TensorView* columns = input(fusion, 1, DataType::Half);
    TensorView* z = add(x, transpose(y, 0, 1));
    z = add(z, broadcast(castOp(DataType::Float, rows), {false, true}));
    z = mul(z, broadcast(castOp(DataType::Float, columns), {true, false}));
    output(fusion, z, DataType::Half);
    output(fusion, transpose(z, 0, 1), DataType::Float);
    fusion.addOutput(gt(z, IrBuilder::create<Val>(0.5)));
  };
  std::vector<std::vector<Input>> runs;
  for (const auto& size : kSizes) {
    runs.push_back({{size, DataType::BFloat16},
                    {{size[1], size[0]}, DataType::Float},
                    {{size[0]}, DataType::Double},
                    {{size[1]}, DataType::Half}});
  }
  check(mixed, runs);
}

TEST_CASE("scheduler transpose: an input with an axis that is squeezed") {
  const auto define = [](Fusion& fusion) {
    TensorView* x = makeConcreteTensor({-1, 1, -1});
    fusion.addInput(x);
    TensorView* y = makeSymbolicTensor(3);
    fusion.addInput(y);
    TensorView* rows = squeeze(x, std::vector<bool>{false, true, false});
    fusion.addOutput(add(broadcast(rows, {true, false, false}), y));
  };
  check(define, {{{{40, 1, 72}}, {{3, 40, 72}, DataType::Float, {40, 1, 120}}}}, "transpose");
}

TEST_CASE("scheduler transpose: what has one axis alone is computed by the threads that read it") {
  const auto define = [](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 3, DataType::BFloat16));
    TensorView* bias = wide(input(fusion, 1, DataType::BFloat16));
    TensorView* gate = wide(input(fusion, 3, DataType::BFloat16));
    TensorView* shifted = add(x, broadcast(bias, {true, true, false}));
    output(fusion, mul(gate, transpose(shifted, 1, 2)), DataType::BFloat16);
  };
  const auto of = [](int64_t n, int64_t c, int64_t t) {
    return std::vector<Input>{{{n, c, t}, DataType::BFloat16},
                              {{t}, DataType::BFloat16},
                              {{n, t, c}, DataType::BFloat16}};
  };
  check(define, {of(2, 160, 196), of(1, 33, 70), of(3, 64, 64)}, "transpose");
  for (Device* device : testDevices()) {
    if (device->kind() != DeviceKind::Cpu) {
      Program program(define, *device);
      program.run(of(2, 256, 256));
      const std::string code = join(program.cache().getMostRecentCode(), "\n");
      CAPTURE(code);
      CHECK(code.find("float T4[") ==
            std::string::npos);  // the bias as numbers: not one for each row
    }
  }
}
