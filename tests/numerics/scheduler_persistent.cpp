// The automatic schedulers of normalisations: each is one kernel where its row fits the chip.
#include <cmath>
#include <random>
#include <set>

#include "automatic.h"

using namespace nvfuser;
using automatic::check;
using automatic::Define;
using automatic::Input;

namespace {

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype) {
  TensorView* tv = makeContigTensor(rank, dtype);
  fusion.addInput(tv);
  return tv;
}

void output(Fusion& fusion, TensorView* tv, DataType dtype) {
  fusion.addOutput(tv->dtype() == dtype ? tv : castOp(dtype, tv));
}

Define softmaxOver(int64_t axis, DataType dtype, bool logarithm = false) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 2, dtype);
    output(fusion, logarithm ? log_softmax(x, axis) : softmax(x, axis), dtype);
  };
}

Define softmaxGradient(int64_t axis, DataType dtype, bool logarithm) {
  return [=](Fusion& fusion) {
    TensorView* dy = input(fusion, 2, dtype);
    TensorView* y = input(fusion, 2, dtype);
    output(fusion, logarithm ? log_softmax_backward(dy, y, axis) : softmax_backward(dy, y, axis),
           dtype);
  };
}

Val* eps() { return IrBuilder::create<Val>(1e-5); }

Define layerNorm(DataType dtype, bool affine) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 2, dtype);
    TensorView* w = affine ? input(fusion, 1, dtype) : nullptr;
    TensorView* b = affine ? input(fusion, 1, dtype) : nullptr;
    auto result = layer_norm(x, 1, w, b, eps());
    output(fusion, result.output, dtype);
    fusion.addOutput(result.mean);
    fusion.addOutput(result.invstd);
  };
}

Define rmsNorm(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 2, dtype);
    TensorView* w = input(fusion, 1, dtype);
    auto result = rms_norm(x, 1, w, eps());
    output(fusion, result.output, dtype);
    fusion.addOutput(result.invstd);
  };
}

const std::vector<std::vector<int64_t>> kRows{{1, 1},    {16, 31}, {1, 768}, {5, 768},
                                              {3, 4096}, {2, 4098}, {1, 5121}, {33, 100}, {0, 8}};

std::vector<std::vector<Input>> rows(DataType dtype, int weights, int others = 0) {
  std::vector<std::vector<Input>> runs;
  for (const auto& sizes : kRows) {
    std::vector<Input> inputs{{sizes, dtype}};
    for (int i = 0; i < others; ++i) {
      inputs.push_back({sizes, dtype});
    }
    for (int i = 0; i < weights; ++i) {
      inputs.push_back({{sizes[1]}, dtype});
    }
    runs.push_back(inputs);
  }
  return runs;
}

const std::vector<DataType> kDtypes{DataType::Float, DataType::BFloat16, DataType::Half,
                                    DataType::Double};

}  // namespace

TEST_CASE("scheduler persistent: softmax of rows") {
  for (DataType dtype : kDtypes) {
    CAPTURE(dtype);
    check(softmaxOver(1, dtype), rows(dtype, 0), "inner persistent");
    check(softmaxOver(1, dtype, true), rows(dtype, 0), "inner persistent");
  }
}

TEST_CASE("scheduler persistent: gradients of softmax of rows") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16}) {
    CAPTURE(dtype);
    check(softmaxGradient(1, dtype, false), rows(dtype, 0, 1), "inner persistent");
    check(softmaxGradient(1, dtype, true), rows(dtype, 0, 1), "inner persistent");
  }
}

TEST_CASE("scheduler persistent: layer norm and RMS norm") {
  for (DataType dtype : kDtypes) {
    CAPTURE(dtype);
    check(layerNorm(dtype, false), rows(dtype, 0), "inner persistent");
    check(layerNorm(dtype, true), rows(dtype, 2), "inner persistent");
    check(rmsNorm(dtype), rows(dtype, 1), "inner persistent");
  }
}
