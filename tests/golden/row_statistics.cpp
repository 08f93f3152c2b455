// Kernels of the CPU whose rows give results of one value: these are stored once a row, and the
// loops over the row are in vectors. Compared with tests/golden/expected/row_statistics_<name>.txt.
#include <doctest/doctest.h>

#include <codegen/generate.h>
#include <device_lower/lower.h>
#include <golden_file.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <scheduler/reduction/schedule.h>

using namespace nvfuser;

namespace {

TensorView* rows(Fusion& fusion) {
  TensorView* tv = makeContigConcreteTensor({128, 1024});
  fusion.addInput(tv);
  return tv;
}

TensorView* kept(TensorView* statistic) { return broadcast(statistic, {false, true}); }

/// What a loss saves of a row for its gradient: its maximum, and the logarithm of the sum behind.
TensorView* loss(Fusion& fusion) {
  TensorView* x = rows(fusion);
  TensorView* greatest = max(x, {1});
  TensorView* top = kept(greatest);
  fusion.addOutput(top);
  fusion.addOutput(log(kept(sum(exp(sub(x, top)), {1}))));
  return greatest;
}

/// What RMS norm saves: behind an addition and rsqrt.
TensorView* norm(Fusion& fusion) {
  TensorView* x = rows(fusion);
  TensorView* squares = sum(mul(x, x), {1});
  TensorView* scale = rsqrt(add(kept(squares), IrBuilder::create<Val>(1e-5)));
  fusion.addOutput(scale);
  fusion.addOutput(mul(x, scale));
  return squares;
}

std::string kernelOf(TensorView* (*define)(Fusion&)) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  ReductionParams params(SchedulerType::InnerPersistent);
  params.reference = define(fusion)->name();
  params.order = {0, 1};
  params.host = true;
  params.project_persistent_buffers = true;
  params.vectorization = 64;
  params.tasks = 8;
  reduction::schedule(&fusion, params);
  LowerOptions options;
  options.target = LowerTarget::Cpu;
  Lowering lowering = lower(&fusion, options);
  lowering.kernel.name = "rows";
  return generateHost(lowering.kernel).ownText();
}

}  // namespace

TEST_CASE("row statistics: kernels of the CPU as they always were") {
  checkGoldenFile("golden/expected/row_statistics_loss.host.txt", kernelOf(loss));
  checkGoldenFile("golden/expected/row_statistics_norm.host.txt", kernelOf(norm));
}
