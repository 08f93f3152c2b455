// Nests as lists of steps (scheduler/loop_steps.h), and those that plans of reductions say.
#include <doctest/doctest.h>

#include <fusion.h>
#include <ops/all_ops.h>
#include <scheduler/loop_steps.h>
#include <scheduler/reduction/loops.h>

using namespace nvfuser;

namespace {

std::string shown(const LoopSteps& steps) { return join(steps.lines(), "\n"); }

ReductionParams rowsOf(std::vector<bool> reduced) {
  ReductionParams params(SchedulerType::Reduction);
  for (size_t i = 0; i < reduced.size(); ++i) {
    params.order.push_back(static_cast<int64_t>(i));
  }
  params.reduced = std::move(reduced);
  params.threads_x = 128;
  return params;
}

}  // namespace

TEST_CASE("loop steps: what is printed is done") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* y = neg(x);
  fusion.addOutput(y);
  LoopSteps steps({"rows", "columns"});
  steps.merge("rows", "columns");
  steps.split("columns", 4, "columns", "vector");
  steps.splitIn("columns", 8, "block", "columns");
  steps.moveBehind("block", "columns");
  steps.bind("block", ParallelType::BIDx);
  CHECK(shown(steps) == R"(merge rows, columns
split columns by 4 -> columns, vector
split columns in 8 -> block, columns
order columns, block, vector
bind block blockIdx.x)");
  steps.apply(y);
  CHECK(y->nDims() == 3);
  CHECK(y->axis(1)->extent()->value() == PolymorphicValue(8));
  CHECK(y->axis(2)->extent()->value() == PolymorphicValue(4));
  CHECK(steps.placeOf("vector") == 2);
  CHECK(steps.bindings()[1] == ParallelType::BIDx);
}

TEST_CASE("loop steps: a loop that is not there, one that is bound before it is split") {
  LoopSteps steps({"rows"});
  CHECK_THROWS_AS(steps.split("row", 4, "row", "vector"), InternalError);
  steps.bind("rows", ParallelType::TIDx);
  CHECK_THROWS_AS(steps.split("rows", 4, "rows", "vector"), InternalError);
}

TEST_CASE("loop steps: sums of rows, with blocks that share a row") {
  ReductionParams params = rowsOf({false, true});
  params.vectorization = 4;
  params.unroll = 2;
  params.grid = 16;
  CHECK(shown(reduction::loopsOf(params, params.reduced)) == R"(name axis1 row
name axis0 kept
bind kept blockIdx.x
split row by 4 -> row, vector
split row by 128 -> row, thread
split row by 2 -> row, unrolled
split row in 16 -> grid, row
bind grid blockIdx.y
split unrolled in 1 -> whole, unrolled
bind whole US
bind unrolled UR
bind thread threadIdx.x)");
}

TEST_CASE("loop steps: sums of columns, on a GPU and by tasks of the CPU") {
  ReductionParams params = rowsOf({true, false});
  params.fastest_dim = false;
  params.vectorization = 2;
  params.threads_y = 8;
  CHECK(shown(reduction::loopsOf(params, params.reduced)) == R"(order axis1, axis0
name axis0 reduced
name axis1 columns
split columns by 2 -> columns, vector
split columns by 128 -> columns, thread
bind columns blockIdx.x
split reduced by 8 -> reduced, row of threads
split reduced by 1 -> reduced, unrolled
split unrolled in 1 -> whole, unrolled
bind whole US
bind unrolled UR
bind row of threads threadIdx.y
bind thread threadIdx.x
order columns, reduced, whole, unrolled, row of threads, thread, vector)");
  params.host = true;
  params.tasks = 3;
  params.chunk = 64;
  CHECK(shown(reduction::loopsOf(params, params.reduced)) == R"(order axis1, axis0
name axis0 reduced
name axis1 columns
split columns by 2 -> columns, strip
split columns in 3 -> task, columns
bind task blockIdx.x
split strip in 1 -> whole, strip
bind whole US
order task, columns, whole, reduced, strip
split reduced by 64 -> chunks, reduced
order task, columns, chunks, whole, reduced, strip)");
}
