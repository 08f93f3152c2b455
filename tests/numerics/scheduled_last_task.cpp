// Reductions over blocks on the CPU: tasks share them where the last one can go on alone, in any
// order of tasks; elsewhere one task does all.
#include "scheduled.h"
#include <runtime/cpu/cpu_device.h>

using namespace nvfuser;
using namespace scheduled;

namespace {

/// Runs twice in each order of tasks: a ticket is zero again behind a launch.
void checkOnCpu(const std::function<void(Fusion&)>& define, const std::vector<Sizes>& runs,
                bool is_shared, DataType dtype = DataType::Float) {
  const auto text = [is_shared](const std::string& kernel) {
    CHECK(contains(kernel, "gridReduce(") == is_shared);
  };
  checkOn(cpuDevice(), define, runs, dtype, text,
          [](Fusion& fusion, KernelExecutor& executor, const KernelArgumentHolder& arguments) {
            for (const CpuTaskOrder order : {CpuTaskOrder::Reverse, CpuTaskOrder::Parallel}) {
              setCpuTaskOrder(order);
              runAndValidate(fusion, executor, arguments);
              runAndValidate(fusion, executor, arguments);
            }
          });
}

/// [blocks, elements] in registers, then their sum over blocks.
TensorView* sharedSum(TensorView* x, int64_t blocks) {
  TensorView* total = sum(x, {0});
  total->split(0, blocks, false);
  TensorView* parts = total->rFactor({1});
  parts->axis(0)->parallelize(ParallelType::BIDx);
  total->axis(0)->parallelize(ParallelType::BIDx);
  return total;
}

}  // namespace

TEST_CASE("last task: what follows from a sum of blocks is computed by the last one") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(1);
    fusion.addInput(x);
    TensorView* total = sharedSum(x, 6);
    TensorView* scaled = mul(total, IrBuilder::create<Val>(0.25));
    fusion.addOutput(castOp(DataType::BFloat16, scaled));
    fusion.addOutput(exp(neg(scaled)));
    inlineMost();
  };
  checkOnCpu(define, {{{1000}}, {{5}}, {{1}}}, true);
}

TEST_CASE("last task: of each row, and of states of several parts") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    const WelfordResult moments = Welford(x, {1});
    fusion.addOutput(div(moments.var_sum, IrBuilder::create<Val>(3.0)));
    fusion.addOutput(add(moments.avg, moments.avg));
    TensorView* reference = moments.avg;
    reference->split(1, 4, false);
    reference->axis(0)->parallelize(ParallelType::BIDy);
    reference->axis(1)->parallelize(ParallelType::BIDx);
    scheduleLike(reference);
    inlineMost();
  };
  checkOnCpu(define, {{{3, 250}}, {{1, 2}}, {{7, 33}}}, true);
}

TEST_CASE("last task: two sums with nothing in common behind them") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(1);
    fusion.addInput(x);
    TensorView* total = sharedSum(x, 5);
    TensorView* squares = sharedSum(mul(x, x), 5);
    fusion.addOutput(neg(total));
    fusion.addOutput(sqrt(squares));
    inlineMost();
  };
  checkOnCpu(define, {{{777}}}, true);
}

TEST_CASE("last task: one task does all where the last one cannot") {
  SUBCASE("two sums meet") {
    checkOnCpu(
        [](Fusion& fusion) {
          TensorView* x = makeContigTensor(1);
          fusion.addInput(x);
          fusion.addOutput(div(sharedSum(x, 5), sharedSum(mul(x, x), 5)));
          inlineMost();
        },
        {{{777}}}, false);
  }
  SUBCASE("what follows is spread over the same blocks") {
    checkOnCpu(
        [](Fusion& fusion) {
          TensorView* x = makeContigTensor(1);
          fusion.addInput(x);
          TensorView* out = div(x, broadcast(sum(x, {0}), {true}));
          fusion.addOutput(out);
          out->split(0, 32);
          out->axis(0)->parallelize(ParallelType::BIDx);
          scheduleLike(out);
          inlineMost();
        },
        {{{777}}}, false);
  }
  SUBCASE("a sum is an output and an operand") {
    checkOnCpu(
        [](Fusion& fusion) {
          TensorView* x = makeContigTensor(1);
          fusion.addInput(x);
          TensorView* total = sharedSum(x, 5);
          fusion.addOutput(total);
          fusion.addOutput(neg(total));
          inlineMost();
        },
        {{{777}}}, false);
  }
}
