// Gradients of normalisations with those of weight and bias: one kernel where there are barriers of
// the grid.
#include <cmath>
#include <random>

#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

/// One value a row.
TensorView* ofRows(Fusion& fusion) {
  TensorView* tv = makeContigConcreteTensor({-1, 1}, DataType::Float);
  fusion.addInput(tv);
  return tv;
}

Define layerNormGradients(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* dy = input(fusion, 2, dtype);
    TensorView* x = input(fusion, 2, dtype);
    TensorView* mean = ofRows(fusion);
    TensorView* rstd = ofRows(fusion);
    TensorView* w = input(fusion, 1, dtype);
    TensorView* b = input(fusion, 1, dtype);
    auto result =
        layer_norm_backward(dy, x, std::vector<int64_t>{-1}, mean, rstd, w, b, {true, true, true});
    output(fusion, result.grad_input, dtype);
    output(fusion, result.grad_weight, dtype);
    output(fusion, result.grad_bias, dtype);
  };
}

Define rmsNormGradients(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* dy = input(fusion, 2, dtype);
    TensorView* x = input(fusion, 2, dtype);
    TensorView* rstd = ofRows(fusion);
    TensorView* w = input(fusion, 1, dtype);
    auto result = rms_norm_backward(dy, x, std::vector<int64_t>{-1}, rstd, w, {true, true});
    output(fusion, result.grad_input, dtype);
    output(fusion, result.grad_weight, dtype);
  };
}

std::vector<Input> gradientInputs(const std::vector<int64_t>& sizes, DataType dtype,
                                  bool layer_norm) {
  std::vector<Input> inputs{{sizes, dtype}, {sizes, dtype}, {{sizes[0], 1}}};
  if (layer_norm) {
    inputs.push_back({{sizes[0], 1}});
  }
  inputs.push_back({{sizes[1]}, dtype});
  if (layer_norm) {
    inputs.push_back({{sizes[1]}, dtype});
  }
  return inputs;
}

const std::vector<std::vector<int64_t>> kRows{{1, 1},    {2, 31},   {37, 96},  {16, 768},
                                              {5, 1030}, {130, 64}, {3, 5121}, {2, 8192}};

/// One kernel on emulated CUDA, two on the CPU.
void checkGradients(const Define& define, const std::vector<std::vector<Input>>& runs) {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Program program(define, *device);
    for (const std::vector<Input>& inputs : runs) {
      CAPTURE(join(inputs[0].sizes, ", "));
      try {
        program.run(inputs);
      } catch (const std::exception& error) {
        FAIL_CHECK(text(join(inputs[0].sizes, ", "), ": ", error.what()));
        continue;
      }
      const std::string report = program.cache().report();
      CAPTURE(report);
      if (device->kind() == DeviceKind::Cpu) {
        CHECK(program.kernels() <= 2);
      } else {
        CHECK(program.kernels() == 1);
        CHECK(program.scheduledBy("inner-outer persistent"));
      }
    }
  }
}

}  // namespace

TEST_CASE("scheduler inner-outer: gradients of layer norm and RMS norm") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Half, DataType::Double}) {
    CAPTURE(dtype);
    std::vector<std::vector<Input>> layer;
    std::vector<std::vector<Input>> rms;
    for (const auto& sizes : kRows) {
      if (dtype == DataType::Double && sizes[1] > 2000) {
        continue;  // more than the registers hold
      }
      layer.push_back(gradientInputs(sizes, dtype, true));
      rms.push_back(gradientInputs(sizes, dtype, false));
    }
    checkGradients(layerNormGradients(dtype), layer);
    checkGradients(rmsNormGradients(dtype), rms);
  }
}

TEST_CASE("scheduler inner-outer: rows of several axes, empty ones, and what comes with them") {
  // [batch, sequence, two axes of a row], a residual's gradient, the largest of each row.
  auto define = [](Fusion& fusion) {
    TensorView* dy = castOp(DataType::Float, input(fusion, 4, DataType::BFloat16));
    TensorView* x = input(fusion, 4, DataType::BFloat16);
    TensorView* residual = castOp(DataType::Float, input(fusion, 4, DataType::BFloat16));
    TensorView* rstd = makeContigConcreteTensor({-1, -1, 1, 1}, DataType::Float);
    fusion.addInput(rstd);
    TensorView* w = input(fusion, 2, DataType::Float);
    auto result = rms_norm_backward(dy, x, std::vector<int64_t>{-1, -1}, rstd, w, {true, true});
    TensorView* dx = add(castOp(DataType::Float, result.grad_input), residual);
    output(fusion, dx, DataType::BFloat16);
    fusion.addOutput(max(abs(dx), {2, 3}));
    output(fusion, mul(castOp(DataType::Float, result.grad_weight), IrBuilder::create<Val>(0.5)),
           DataType::Float);
  };
  std::vector<std::vector<Input>> runs;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {3, 7, 4, 24}, {2, 5, 3, 11}, {1, 1, 8, 64}, {9, 4, 1, 40}}) {
    runs.push_back({{sizes, DataType::BFloat16},
                    {sizes, DataType::BFloat16},
                    {sizes, DataType::BFloat16},
                    {{sizes[0], sizes[1], 1, 1}},
                    {{sizes[2], sizes[3]}}});
  }
  checkGradients(define, runs);
  for (Device* device : testDevices()) {
    Program program(layerNormGradients(DataType::Float), *device);
    program.run(gradientInputs({0, 40}, DataType::Float, true));
    program.run(gradientInputs({5, 0}, DataType::Float, true));
  }
}

TEST_CASE("scheduler inner-outer: one kernel serves many shapes") {
  constexpr uint64_t kSeed = 21;
  CAPTURE(kSeed);
  Program program(rmsNormGradients(DataType::BFloat16), emulatedDevice());
  std::mt19937_64 random(kSeed);
  auto logUniform = [&](double most) {
    std::uniform_real_distribution<double> exponent(0, std::log(most));
    return static_cast<int64_t>(std::exp(exponent(random)));
  };
  for (int i = 0; i < 100; ++i) {
    const int64_t length = logUniform(12000.99);
    const int64_t count = logUniform(4096.99);
    KernelArgumentHolder shapes;
    for (const Input& one : gradientInputs({count, length}, DataType::BFloat16, false)) {
      const bool matrix = one.sizes.size() == 2;
      shapes.push(Tensor::meta(
          one.sizes, matrix ? std::vector<int64_t>{one.sizes[1], 1} : std::vector<int64_t>{1},
          one.dtype));
    }
    program.cache().prepare(shapes, {}, &emulatedDevice());
    CHECK(program.cache().numKernels() <= 2);
  }
  // Where a row does not fit the registers of a block, a shape has two.
  CHECK(program.cache().numKernelsMade() <= 56);
}

TEST_CASE(
    "scheduler inner-outer: sums of columns that keep their axis, of what the rows' sums give") {
  // As frameworks write the gradients of what was stretched: [n, c] to [1, c], then [c].
  const Define define = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2, DataType::Float);
    TensorView* w = input(fusion, 1, DataType::Float);
    TensorView* y = mul(x, broadcast(w, {true, false}));
    TensorView* scale = rsqrt(add(sum(mul(y, y), {1}, true), IrBuilder::create<Val>(1.0)));
    TensorView* scaled = mul(y, scale);
    fusion.addOutput(scaled);
    fusion.addOutput(mul(sum(scaled, {0}, true), IrBuilder::create<Val>(0.5)));
    fusion.addOutput(squeeze(sum(mul(scaled, x), {0}, true), {0}));
  };
  std::vector<std::vector<Input>> runs;
  for (const auto& sizes : kRows) {
    runs.push_back({{sizes}, {{sizes[1]}}});
  }
  checkGradients(define, runs);
}
