// What a kernel combines among threads: one struct for each operation with its neutral element.
#include <doctest/doctest.h>

#include <codegen.h>
#include <device_lower/lower2device.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>

using namespace nvfuser;

namespace {

/// Each row by a block, whose threads reduce it together.
std::string textOf(Fusion& fusion) {
  for (TensorView* tv : fusion.allTvs()) {
    if (tv->isFusionInput()) {
      continue;
    }
    tv->axis(0)->parallelize(ParallelType::BIDx);
    if (tv->nDims() > 1) {
      tv->axis(1)->parallelize(ParallelType::TIDx);
    }
  }
  return codegen::generateCudaKernel(GpuLower(&fusion).run());
}

int states(const std::string& kernel) {
  int count = 0;
  while (kernel.find("struct State" + std::to_string(count) + " {") != std::string::npos) {
    ++count;
  }
  return count;
}

TensorView* reduced(BinaryOpType op, TensorView* x, double init) {
  return reductionOp(op, {1}, IrBuilder::create<Val>(init), x);
}

}  // namespace

TEST_CASE("states: two operations with one neutral element are two") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  fusion.addOutput(reduced(BinaryOpType::Add, x, 0));
  fusion.addOutput(reduced(BinaryOpType::Max, x, 0));
  CHECK(states(textOf(fusion)) == 2);
}

TEST_CASE("states: one operation that begins at two numbers is two, at one number one") {
  for (const double second : {0.0, 5.0}) {
    CAPTURE(second);
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    TensorView* first = reduced(BinaryOpType::Add, x, 0);
    TensorView* product = mul(x, broadcast(first, {false, true}));
    fusion.addOutput(reduced(BinaryOpType::Add, product, second));
    CHECK(states(textOf(fusion)) == (second == 0 ? 1 : 2));
  }
}
