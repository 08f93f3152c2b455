// Which rows the CPU's tasks share: few long ones, where the last task can go on alone.
#include <doctest/doctest.h>

#include "planned.h"
#include <ops/all_ops.h>
#include <scheduler/reduction/reduction.h>

using namespace nvfuser;

namespace {

using Reduce = std::function<TensorView*(TensorView*)>;

/// On a CPU of eight threads.
bool isShared(const Reduce& reduce, std::vector<int64_t> sizes) {
  auto define = [&](Fusion& fusion) {
    TensorView* x = makeContigTensor(2, DataType::BFloat16);
    fusion.addInput(x);
    fusion.addOutput(castOp(DataType::BFloat16, reduce(castOp(DataType::Float, x))));
  };
  const std::string plan = planned(reductionScheduler(), define, {{std::move(sizes)}, true});
  CAPTURE(plan);
  CHECK(plan.find("on the host") != std::string::npos);
  return plan.find(", grid ") != std::string::npos;
}

TensorView* sumOfRows(TensorView* x) { return sum(x, {1}); }
TensorView* sumOfColumns(TensorView* x) { return sum(x, {0}); }
TensorView* meanOfAll(TensorView* x) { return mean(x, {0, 1}, false); }
TensorView* varianceOfAll(TensorView* x) { return variance_mean(x, {0, 1}, 1, false).var; }
TensorView* ratioOfAll(TensorView* x) { return div(sum(x, {0, 1}), max(x, {0, 1})); }

}  // namespace

TEST_CASE("reduction scheduler: tasks of the CPU share few long rows") {
  CHECK(isShared(sumOfRows, {1, 1 << 20}));
  CHECK(isShared(sumOfRows, {7, 1 << 20}));
  CHECK(isShared(meanOfAll, {512, 1000}));
  CHECK(isShared(varianceOfAll, {512, 1000}));
  CHECK_FALSE(isShared(sumOfRows, {8, 1 << 20}));      // a row for each thread
  CHECK_FALSE(isShared(sumOfRows, {1, 40'000}));       // too short
  CHECK_FALSE(isShared(sumOfColumns, {1 << 16, 16}));  // columns
  CHECK_FALSE(isShared(ratioOfAll, {512, 1000}));      // two tasks may be the last
}
