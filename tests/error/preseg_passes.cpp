// What is said where a pass is named wrongly, and of sizes that a rewritten fusion takes for equal.
#include <doctest/doctest.h>

#include "user_error.h"
#include <fusion.h>
#include <ops/all_ops.h>
#include <preseg_passes/pipeline.h>
#include <runtime/fusion_executor_cache.h>

using namespace nvfuser;

namespace {

std::unique_ptr<Fusion> sums() {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeSymbolicTensor(2);
  TensorView* y = makeSymbolicTensor(2);
  fusion->addInput(x);
  fusion->addInput(y);
  fusion->addOutput(add(x, y));
  return fusion;
}

}  // namespace

TEST_CASE("preseg: a pass that does not exist") {
  const OptionsGuard guard(Options::current().disable("preseg(consecutive-cast)"));
  checkAll({{"preseg: there is no pass 'consecutive-cast'; those are substitute-extents, ",
             [] { FusionExecutorCache cache(sums()); }}});
}

TEST_CASE("preseg: inputs whose sizes do not agree") {
  FusionExecutorCache cache(sums());
  KernelArgumentHolder arguments;
  arguments.push(Tensor::randn({3, 4}, DataType::Float, 1));
  arguments.push(Tensor::randn({3, 5}, DataType::Float, 2));
  checkAll({{"the inputs' sizes do not agree", [&] { cache.runFusionWithInputs(arguments); }}});
}
