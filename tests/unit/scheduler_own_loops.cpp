// Where a tensor may have loops of its own inside loops that it shares.
#include <doctest/doctest.h>

#include <ops/all_ops.h>
#include <scheduler/analysis/own_loops.h>
#include <scheduler/utils.h>

using namespace nvfuser;

namespace {

/// y[5, i0] = x[i0] in each of 5 rows: x's loops are those of 5·i0, without the 5.
struct Rows {
  explicit Rows(int64_t together) {
    x = makeContigTensor(1);
    fusion.addInput(x);
    copy = set(x);
    TensorView* wide = makeContigConcreteTensor({5, -1});
    fusion.addInput(wide);
    y = add(broadcast(copy, {true, false}), wide);
    fusion.addOutput(y);
    y->merge(0);
    y->split(0, together);
    scheduler_utils::transformPropagateToAllFrom(y);
  }

  Fusion fusion;
  FusionGuard guard{&fusion};
  TensorView* x = nullptr;
  TensorView* copy = nullptr;
  TensorView* y = nullptr;
};

}  // namespace

TEST_CASE("own loops: a part of a loop that is shared with more axes is nobody's own") {
  Rows four(4);
  const OwnLoops own(four.fusion, four.y, {four.copy, four.y});
  CHECK(own.mayHave(four.y, 1));
  CHECK(!own.mayHave(four.copy, 1));
}

TEST_CASE(
    "own loops: a loop of one turn is asked like others, as plans are tried with vectors of one") {
  Rows alone(1);
  const OwnLoops own(alone.fusion, alone.y, {alone.copy, alone.y});
  CHECK(!own.mayHave(alone.copy, 1));
}
