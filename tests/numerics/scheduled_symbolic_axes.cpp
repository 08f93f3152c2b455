// Schedules made by hand take axes of computed sizes as iterated: none, one or many times.
#include "scheduled.h"

using namespace nvfuser;
using namespace scheduled;

namespace {

Val* num(int64_t value) { return IrBuilder::create<Val>(value); }

}  // namespace

TEST_CASE("scheduled symbolic axes: a slice and a reshape in one loop") {
  check(
      [](Fusion& fusion) {
        TensorView* x = makeContigTensor(2);
        fusion.addInput(x);
        TensorView* part = slice(x, {{num(1), nullptr}, {}});
        TensorView* out = neg(reshape(sin(part), {num(-1)}));
        fusion.addOutput(out);
        out->split(0, 64);
        out->axis(0)->parallelize(ParallelType::BIDx);
        out->axis(1)->parallelize(ParallelType::TIDx);
        scheduleLike(out);
        inlineMost();
      },
      {{{5, 60}}, {{2, 3}}, {{2, 1}}, {{1, 7}}, {{0, 7}}, {{3, 0}}});
}

TEST_CASE("scheduled symbolic axes: merged with declared ones") {
  check(
      [](Fusion& fusion) {
        TensorView* x = makeContigTensor(2);
        fusion.addInput(x);
        TensorView* out = neg(exp(slice(x, {{}, {num(1), nullptr}})));
        fusion.addOutput(out);
        out->merge(0);
        out->split(0, 32);
        out->axis(1)->parallelize(ParallelType::TIDx);
        scheduleLike(out);
        inlineMost();
      },
      {{{5, 60}}, {{2, 3}}, {{1, 2}}, {{4, 1}}, {{0, 7}}});
}

TEST_CASE("scheduled symbolic axes: reduced, in parts") {
  check(
      [](Fusion& fusion) {
        TensorView* x = makeContigTensor(2);
        fusion.addInput(x);
        TensorView* total = sum(exp(slice(x, {{}, {num(1), nullptr}})), {1});
        fusion.addOutput(total);
        total->split(1, 32, false);
        TensorView* parts = total->rFactor({2});
        parts->axis(1)->parallelize(ParallelType::TIDx);
        scheduleLike(parts);
        inlineMost();
      },
      {{{5, 60}}, {{2, 3}}, {{1, 2}}, {{4, 1}}, {{0, 7}}});
}

TEST_CASE("scheduled symbolic axes: sizes that meet are equal, or the call is refused") {
  for (Device* device : testDevices()) {
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    TensorView* out = add(x, slice(x, {{nullptr, num(2)}, {}}));
    fusion.addOutput(out);
    out->split(1, 16);
    out->axis(2)->parallelize(ParallelType::TIDx);
    scheduleLike(out);
    inlineMost();
    KernelExecutor executor;
    const auto run = [&](std::vector<int64_t> sizes) {
      KernelArgumentHolder arguments;
      arguments.push(Tensor::randn(std::move(sizes), DataType::Float, 1, *device));
      if (!executor.isCompiled()) {
        executor.compile(&fusion, arguments);
      }
      runAndValidate(fusion, executor, arguments);
    };
    run({2, 30});
    run({1, 5});
    run({0, 5});
    CHECK_THROWS_AS(run({3, 30}), UserError);
    run({2, 1});
  }
}
