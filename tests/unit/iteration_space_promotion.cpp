// What a loop that several tensors share runs over, and which of them cannot share it.
#include <doctest/doctest.h>

#include <iteration_space/promotion.h>
#include <ops/all_ops.h>
#include <scheduler/utils.h>

using namespace nvfuser;

namespace {

TensorView* input(Fusion& fusion, int64_t rank) {
  TensorView* tv = makeContigTensor(rank);
  fusion.addInput(tv);
  return tv;
}

}  // namespace

TEST_CASE("promotion: a loop of broadcast and other axes runs over the other one") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* row = set(input(fusion, 1));
  TensorView* wide = broadcast(row, {true, false});
  TensorView* out = add(input(fusion, 2), wide);
  fusion.addOutput(out);
  for (TensorView* tv : {wide, out}) {
    tv->merge(0);
  }
  const IdGraph exact(fusion, IdGraph::Mode::Exact);
  const Promotion promotion = promotionOf({{wide, 0}, {out, 0}}, exact);
  CHECK(promotion.over == out->axis(0));
  CHECK(!promotion.uncovered);
}

TEST_CASE("promotion: of two axes that meet nowhere neither covers the other") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* a = set(input(fusion, 1));
  TensorView* b = set(input(fusion, 1));
  fusion.addOutput(a);
  fusion.addOutput(b);
  const IdGraph exact(fusion, IdGraph::Mode::Exact);
  const Promotion promotion = promotionOf({{a, 0}, {b, 0}}, exact);
  CHECK(promotion.over == a->axis(0));
  REQUIRE(promotion.uncovered);
  CHECK(promotion.uncovered->first == b);
}

TEST_CASE("promotion: an axis covers what is reshaped of it") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 6});
  fusion.addInput(x);
  TensorView* rows = set(x);
  TensorView* flat = reshape(rows, {4, 6}, {24});
  fusion.addOutput(flat);
  rows->merge(0);
  const IdGraph exact(fusion, IdGraph::Mode::Exact);
  const Promotion promotion = promotionOf({{rows, 0}, {flat, 0}}, exact);
  CHECK(!promotion.uncovered);
}

TEST_CASE("promotion: what one axis is made into does not cover it twice") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* column = makeContigTensor(1);
  TensorView* x = makeContigTensor(2);
  fusion.addInput(column);
  fusion.addInput(x);
  TensorView* rows = set(x);  // [i0, i1], of which i1 is the column's axis, too
  fusion.addOutput(add(rows, broadcast(column, {true, false})));
  TensorView* small = reshape(rows, {IrBuilder::create<Val>(2L), IrBuilder::create<Val>(2L)});
  TensorView* out =
      add(broadcast(small, {false, false, true}), broadcast(column, {true, true, false}));
  fusion.addOutput(out);
  out->merge(0);
  out->merge(0);   // 2·2·i1
  rows->merge(0);  // i0·i1, which are four elements
  const IdGraph exact(fusion, IdGraph::Mode::Exact);
  REQUIRE(exact.mapped(rows->getLogicalDomain()[1], out->getLogicalDomain()[2]));
  for (const auto& members : {std::vector<LoopMember>{{rows, 0}, {out, 0}},
                              std::vector<LoopMember>{{out, 0}, {rows, 0}}}) {
    const Promotion promotion = promotionOf(members, exact);
    CHECK(promotion.over == out->axis(0));
    CHECK(!promotion.uncovered);
  }
}

TEST_CASE("promotion: thousands of tensors may share a loop, or not") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  std::vector<LoopMember> members;
  for (int chain = 0; chain < 2; ++chain) {
    TensorView* tv = set(input(fusion, 1));
    for (int link = 0; link < 2000; ++link) {
      tv = neg(tv);
      members.emplace_back(tv, 0);
    }
    fusion.addOutput(tv);
  }
  const IdGraph exact(fusion, IdGraph::Mode::Exact);
  const Promotion promotion = promotionOf(members, exact);
  CHECK(promotion.over == members.front().first->axis(0));
  REQUIRE(promotion.uncovered);
  CHECK(promotion.uncovered->first == members[2000].first);
}
