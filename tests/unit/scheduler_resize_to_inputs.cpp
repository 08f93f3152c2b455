/// Slices, pads and joins of computed tensors become reads of the inputs.
#include <doctest/doctest.h>

#include <algorithm>

#include <ir/builder.h>
#include <ops/all_ops.h>
#include <scheduler/indexed_reads.h>
#include <scheduler/pointwise/loop_nests.h>
#include <scheduler/resize_to_inputs.h>

namespace nvfuser {
namespace {

Val* num(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype = DataType::Float) {
  TensorView* tv = makeContigTensor(rank, dtype);
  fusion.addInput(tv);
  return tv;
}

/// How many operations of a kind lead to an output, and how many of them read no input.
template <typename Op>
std::pair<int, int> countOf(const Fusion& fusion) {
  int all = 0;
  int of_computed = 0;
  for (const Expr* expr : fusion.exprs()) {
    all += expr->isA<Op>() ? 1 : 0;
    of_computed += expr->isA<Op>() && !expr->input(0)->isFusionInput() ? 1 : 0;
  }
  return {all, of_computed};
}

TEST_CASE("resize to inputs: a rotary embedding reads its input three times") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2, DataType::BFloat16);
  TensorView* wide = castOp(DataType::Float, x);
  TensorView* first = slice(wide, {{}, {num(0), num(32)}}, true);
  TensorView* second = slice(wide, {{}, {num(32), x->axis(1)->extent()}}, true);
  fusion.addOutput(add(wide, cat({neg(second), first}, 1)));
  CHECK(scheduler_tools::resizesComputed(fusion));
  scheduler_tools::propagateResizeToInputs(&fusion, false);
  CHECK_FALSE(scheduler_tools::resizesComputed(fusion));
  CHECK(countOf<CatOp>(fusion).first == 0);
  CHECK(countOf<SliceOp>(fusion).first == 0);
  CHECK(countOf<PadOp>(fusion) == std::pair(2, 0));
  fusion.verify();
}

TEST_CASE("resize to inputs: a slice stays one, without a condition") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = exp(input(fusion, 1));
  fusion.addOutput(x);
  TensorView* part = slice(x, {{num(2), num(20)}}, true);
  fusion.addOutput(sin(slice(neg(part), {{num(3), num(9)}}, true)));
  scheduler_tools::propagateResizeToInputs(&fusion, false);
  CHECK(countOf<SliceOp>(fusion) == std::pair(1, 0));
  CHECK(countOf<PadOp>(fusion).first == 0);
  fusion.verify();
}

TEST_CASE(
    "resize to inputs: a picture that is turned, of one that is turned, reads the input once") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* quarter = transpose(flip(exp(x), {0}));
  fusion.addOutput(neg(stridedSlice(flip(quarter, {0, 1}), {{num(2), num(4), 3}, {}})));
  scheduler_tools::propagateResizeToInputs(&fusion, false);
  CHECK(countOf<SliceOp>(fusion) == std::pair(1, 0));
  const auto* read = fusion.usesOf(fusion.inputs()[0]->as<TensorView>()).at(0)->as<SliceOp>();
  // Rows, turned twice, are as they were; columns go backwards, in steps of three.
  CHECK(read->start(0)->isZero());
  CHECK(read->step(0)->isOne());
  CHECK(read->step(1)->toInlineString() == "-3");
  fusion.verify();
}

TEST_CASE("resize to inputs: a window that a former turn made keeps its step") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 1);
  fusion.addOutput(neg(pad(flip(exp(x), {0}), {num(2), num(3)}, nullptr)));
  scheduler_tools::propagateResizeToInputs(&fusion, false);
  const auto* output = fusion.outputs()[0]->as<TensorView>();
  TensorView* again =
      sin(slice(output->definition()->input(0)->as<TensorView>(), {{num(1), num(4)}}, true));
  fusion.addOutput(again);
  scheduler_tools::propagateResizeToInputs(&fusion, false);
  CHECK_FALSE(scheduler_tools::resizesComputed(fusion));
  for (const Expr* read : fusion.usesOf(x)) {
    const auto* id = read->output(0)->as<TensorView>()->getLogicalDomain()[0];
    CHECK(id->definition()->as<Resize>()->step() == -1);
  }
  fusion.verify();
}

TEST_CASE("resize to inputs: each third place of a join and of a pad asks for its own part") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 1);
  TensorView* joined = cat({pad(exp(x), {num(2), num(3)}, nullptr), flip(x, {0})}, 0);
  fusion.addOutput(neg(stridedSlice(joined, {{num(1), num(5), 3}})));
  scheduler_tools::propagateResizeToInputs(&fusion, false);
  CHECK_FALSE(scheduler_tools::resizesComputed(fusion));
  fusion.verify();
}

TEST_CASE("resize to inputs: what is no matter of indices stays") {
  {
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* total = sum(input(fusion, 2), {1});
    fusion.addOutput(neg(slice(total, {{num(1), num(5)}}, true)));  // not every row's sum
    scheduler_tools::propagateResizeToInputs(&fusion, false);
    CHECK(countOf<SliceOp>(fusion) == std::pair(1, 1));
  }
  {
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* quotient = div(input(fusion, 1, DataType::Int), input(fusion, 1, DataType::Int));
    fusion.addOutput(neg(pad(quotient, {num(1), num(1)})));  // zeros would be divided by
    scheduler_tools::propagateResizeToInputs(&fusion, false);
    CHECK(countOf<PadOp>(fusion) == std::pair(1, 1));
  }
  {
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* noise = rand_like(input(fusion, 1));
    fusion.addOutput(neg(slice(noise, {{num(1), num(5)}}, true)));  // element 1 is another draw
    scheduler_tools::propagateResizeToInputs(&fusion, false);
    CHECK(countOf<SliceOp>(fusion) == std::pair(1, 1));
  }
}

TEST_CASE("resize to inputs: windows go through reshapes where they take whole inner axes") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 3);
  Val* numbers = x->axis(2)->extent();
  Val* width = SimplifyingIrBuilder::mulExpr(x->axis(1)->extent(), numbers);
  TensorView* row = reshape(exp(x), {x->axis(0)->extent(), width});
  fusion.addOutput(neg(pad(row, {width, numbers}, IrBuilder::create<Val>(1.0))));
  scheduler_tools::propagateResizeToInputs(&fusion, false);
  CHECK(countOf<PadOp>(fusion) == std::pair(1, 0));
  CHECK(countOf<ReshapeOp>(fusion).first == 1);
  for (const Expr* expr : fusion.exprs()) {
    if (const auto* pad = dynamic_cast<const PadOp*>(expr)) {
      CHECK(pad->in() == x);
      for (const Val* width_of_axis : {pad->leftWidth(1), pad->rightWidth(1)}) {  // in whole axes
        CHECK(width_of_axis->toInlineString().find(numbers->toInlineString()) == std::string::npos);
      }
    }
  }
  fusion.verify();
}

TEST_CASE("resize to inputs: a window that cuts an inner axis of a reshape stays") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 3);
  Val* width = SimplifyingIrBuilder::mulExpr(x->axis(1)->extent(), x->axis(2)->extent());
  TensorView* row = reshape(exp(x), {x->axis(0)->extent(), width});
  fusion.addOutput(neg(pad(row, {num(1), num(0)})));
  scheduler_tools::propagateResizeToInputs(&fusion, false);
  CHECK(countOf<PadOp>(fusion) == std::pair(1, 1));
}

TEST_CASE("indexed reads: of the input, where what is read is computed from it") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* label = input(fusion, 2, DataType::Int);
  TensorView* top = broadcast(max(x, {1}), {false, true});
  TensorView* shifted = sub(x, top);
  fusion.addOutput(exp(shifted));
  fusion.addOutput(neg(takeAlongAxis(shifted, label, 1)));
  scheduler_tools::propagateIndexedReadsToInputs(&fusion);
  CHECK(countOf<GatherOp>(fusion) == std::pair(1, 0));
  fusion.verify();
}

TEST_CASE("indexed reads: of an axis of one element at that element, whatever the index") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* mean_of_rows = TensorViewBuilder().shape({-1, 1}).dtype(DataType::Float).build();
  fusion.addInput(mean_of_rows);
  TensorView* column = select(sub(x, mean_of_rows), 1, num(2));
  fusion.addOutput(neg(column));
  scheduler_tools::propagateIndexedReadsToInputs(&fusion);
  CHECK(countOf<SelectOp>(fusion) == std::pair(2, 0));
  for (const Expr* expr : fusion.exprs()) {
    if (expr->isA<SelectOp>()) {
      CHECK(expr->input(1)->isZero() == (expr->input(0) == mean_of_rows));
    }
  }
  fusion.verify();
}

TEST_CASE("indexed reads: an input of one element along the axis is read as it is") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* mean_of_rows = TensorViewBuilder().shape({-1, 1}).dtype(DataType::Float).build();
  fusion.addInput(mean_of_rows);
  TensorView* label = input(fusion, 1, DataType::Int);
  fusion.addOutput(neg(indexSelect(sub(x, mean_of_rows), 1, label)));
  scheduler_tools::propagateIndexedReadsToInputs(&fusion);
  CHECK(countOf<IndexSelectOp>(fusion) == std::pair(1, 0));
  fusion.verify();
}

TEST_CASE("indexed reads: one element that is shown several times stays what it is") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* row = broadcast(input(fusion, 1), {true, false});
  TensorView* label = TensorViewBuilder().ndims(1).expanded({true}).dtype(DataType::Int).build();
  fusion.addInput(label);
  TensorView* rows = indexSelect(row, 0, label);
  fusion.addOutput(rows);
  fusion.addOutput(neg(rows));
  scheduler_tools::propagateIndexedReadsToInputs(&fusion);
  CHECK(countOf<IndexSelectOp>(fusion) == std::pair(1, 1));
  CHECK(fusion.outputs()[1]->as<TensorView>()->axis(0)->hasExpandedExtent());
  fusion.verify();
}

TEST_CASE(
    "loop nests: outputs of other axes have one of their own, and nothing but inputs is shared") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* angle = input(fusion, 1);
  TensorView* factor = broadcast(cos(angle), {true, false});
  TensorView* q = mul(input(fusion, 2), factor);
  TensorView* k = mul(input(fusion, 2), factor);
  fusion.addOutput(q);
  fusion.addOutput(k);
  fusion.addOutput(neg(q));
  const std::vector<pointwise::LoopNest> nests = pointwise::loopNests(fusion);
  REQUIRE(nests.size() == 2);
  CHECK(nests[0].outputs == std::vector<size_t>{0, 2});
  CHECK(nests[1].outputs == std::vector<size_t>{1});
  REQUIRE(pointwise::separate(&fusion, nests));
  const auto first = pointwise::tensorsOf(fusion, nests[0]);
  for (const TensorView* tv : pointwise::tensorsOf(fusion, nests[1])) {
    CHECK((tv->isFusionInput() || first.count(const_cast<TensorView*>(tv)) == 0));
  }
  fusion.verify();
}

}  // namespace
}  // namespace nvfuser
