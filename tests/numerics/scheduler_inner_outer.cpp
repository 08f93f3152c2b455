// Gradients of normalisations with those of weight and bias: one kernel where there are barriers of
// the grid.
#include <random>

#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype) {
  TensorView* tv = makeContigTensor(rank, dtype);
  fusion.addInput(tv);
  return tv;
}

/// One value a row.
TensorView* ofRows(Fusion& fusion) {
  TensorView* tv = makeContigConcreteTensor({-1, 1}, DataType::Float);
  fusion.addInput(tv);
  return tv;
}

void output(Fusion& fusion, TensorView* tv, DataType dtype) {
  fusion.addOutput(tv->dtype() == dtype ? tv : castOp(dtype, tv));
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
  for (Device* device : devices()) {
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
