// Copies, axes of extent 1, and permutations.
#include <doctest/doctest.h>

#include <ir/builder.h>
#include <op_fixture.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <shape_text.h>

namespace nvfuser {
namespace {

// ---- copies ----

TEST_CASE_FIXTURE(OpFixture, "set copies axes, kinds and dtype") {
  TensorView* x = constant({3, 1, 5}, DataType::Half);
  TensorView* y = set(x);
  CHECK(shapeText(y) == "[3, b, 5]");
  CHECK(y->dtype() == DataType::Half);
  CHECK(y->definition()->as<LoadStoreOp>()->opType() == LoadStoreOpType::Set);
  CHECK(y->getLogicalDomain()[0] != x->getLogicalDomain()[0]);
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "set and segment_set of scalars and through the base class") {
  Val* a = IrBuilder::create<Val>(DataType::Int);
  CHECK(set(a)->dtype() == DataType::Int);
  CHECK(set(a)->definition()->isA<LoadStoreOp>());
  Val* x = constant({2});
  CHECK(set(x)->isA<TensorView>());
  TensorView* cut = segment_set(x->as<TensorView>());
  CHECK(cut->definition()->as<LoadStoreOp>()->opType() == LoadStoreOpType::SegmenterSet);
}

TEST_CASE_FIXTURE(OpFixture, "an operation drops the reductions of its operand") {
  TensorView* total = sum(constant({3, 4, 5}), {1});
  CHECK(shapeText(set(total)) == "[3, 5]");
  CHECK(shapeText(permute(total, {1, 0})) == "[5, 3]");
  CHECK(shapeText(unsqueeze(total, -1)) == "[3, 5, b]");
  checkSound(permute(total, {1, 0}));
}

TEST_CASE_FIXTURE(OpFixture, "view reads the same bits as another dtype") {
  TensorView* x = constant({4}, DataType::Float);
  CHECK(view(x, DataType::Float) == x);
  TensorView* y = view(x, DataType::Int32);
  CHECK(y->dtype() == DataType::Int32);
  CHECK(y->definition()->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::BitCast);
}

// ---- broadcast and kin ----

TEST_CASE_FIXTURE(OpFixture, "broadcast adds axes where flagged") {
  TensorView* x = constant({3, 5});
  TensorView* y = broadcast(x, {true, false, true, false});
  CHECK(shapeText(y) == "[b, 3, b, 5]");
  CHECK(y->definition()->as<BroadcastOp>()->flags() == std::vector<bool>{true, false, true, false});
  CHECK(broadcast(x, {false, false}) == x);
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "broadcast of a 0-dim tensor") {
  TensorView* y = broadcast(constant({}), {true, true});
  CHECK(shapeText(y) == "[b, b]");
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "squeeze by positions, by list and by flags") {
  TensorView* x = constant({1, 3, 1});
  CHECK(shapeText(squeeze(x, std::vector<int64_t>{0, -1})) == "[3]");
  CHECK(shapeText(squeeze(x, {0})) == "[3, b]");
  CHECK(shapeText(squeeze(x, std::vector<bool>{false, false, true})) == "[b, 3]");
  CHECK(squeeze(x, std::vector<int64_t>{})->definition()->isA<LoadStoreOp>());
  TensorView* y = squeeze(x, {0, 2});
  CHECK(y->definition()->as<SqueezeOp>()->flags() == std::vector<bool>{true, false, true});
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "squeeze drops expanded axes when asked") {
  TensorView* x = expand(constant({1, 3}), {num(7), num(-1)});
  CHECK(shapeText(x) == "[b7, 3]");
  CHECK(shapeText(squeeze(x, std::vector<int64_t>{0}, true)) == "[3]");
}

TEST_CASE_FIXTURE(OpFixture, "unsqueeze counts positions of the result") {
  TensorView* x = constant({3, 5});
  CHECK(shapeText(unsqueeze(x, 0)) == "[b, 3, 5]");
  CHECK(shapeText(unsqueeze(x, 2)) == "[3, 5, b]");
  CHECK(shapeText(unsqueeze(x, -1)) == "[3, 5, b]");
  CHECK(shapeText(unsqueeze(x, -3)) == "[b, 3, 5]");
}

TEST_CASE_FIXTURE(OpFixture, "expand stretches broadcast axes and keeps others") {
  TensorView* x = constant({1, 3});
  TensorView* y = expand(x, {num(4), num(3)});
  CHECK(shapeText(y) == "[b4, 3]");
  CHECK(y->definition()->isA<ExpandOp>());
  CHECK(y->definition()->inputs().size() == 3);
  CHECK(expand(x, {num(1), num(3)})->definition()->isA<LoadStoreOp>());
  CHECK(expand(x, {num(-1), num(-1)})->definition()->isA<LoadStoreOp>());
  Val* n = IrBuilder::create<Val>(DataType::Index);
  TensorView* symbolic_size = expand(x, {n, num(3)});
  CHECK(symbolic_size->getLogicalDomain()[0]->expandedExtent() == n);
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "expand with more sizes adds leading axes") {
  TensorView* y = expand(constant({3}), {num(2), num(1), num(3)});
  CHECK(shapeText(y) == "[b2, b, 3]");
  CHECK(chainText(y) == "BroadcastOp ExpandOp");
  CHECK(shapeText(expand(constant({}), {num(2)})) == "[b2]");
}

TEST_CASE_FIXTURE(OpFixture, "expand to zero elements") {
  CHECK(shapeText(expand(constant({1, 3}), {num(0), num(3)})) == "[b0, 3]");
}

TEST_CASE_FIXTURE(OpFixture, "expand_as takes the other's shape") {
  TensorView* x = constant({1, 3});
  TensorView* other = constant({8, 3});
  CHECK(shapeText(expand_as(x, other)) == "[b8, 3]");
  TensorView* free = symbolic(2);
  CHECK(expand_as(x, free)->getLogicalDomain()[0]->expandedExtent() == extent(free, 0));
}

TEST_CASE_FIXTURE(OpFixture, "repeat: iterated axes are tiled, axes of extent 1 made real") {
  TensorView* x = constant({3, 1, 5});
  TensorView* y = repeat(x, {2, 4, 1});
  CHECK(shapeText(y) == "[6, 4, 5]");
  CHECK(chainText(y) == "BroadcastOp RepeatOp ReshapeOp");
  CHECK(transformsText(y) == "Merge");
  CHECK(shapeText(repeat(x, {1, 4, 1})) == "[3, 4, 5]");
  CHECK(chainText(repeat(x, {1, 4, 1})) == "RepeatOp");
  CHECK(repeat(x, {1, 1, 1})->definition()->isA<LoadStoreOp>());
  CHECK(shapeText(repeat(x, {2, 1, 1, 1})) == "[2, 3, b, 5]");
  CHECK(shapeText(repeat(x, {2, 1, 3})) == "[6, b, 15]");
  CHECK(shapeText(repeat(x, {0, 1, 1})) == "[0, b, 5]");
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "repeat of expanded and symbolic axes") {
  TensorView* x = expand(constant({1, 3}), {num(7), num(-1)});
  TensorView* y = repeat(x, {2, 2});
  CHECK(shapeText(y) == "[14, 6]");
  checkSound(y);
  TensorView* z = repeat(symbolic(2), {2, 3});
  CHECK(transformsText(z) == "Merge Merge");
  checkSound(z);
}

// ---- permute ----

TEST_CASE_FIXTURE(OpFixture,
                  "permute: fresh root in the input's order, the same axes permuted as logical") {
  TensorView* x = constant({2, 3, 5});
  TensorView* y = permute(x, std::vector<int64_t>{2, 0, 1});
  CHECK(shapeText(y) == "[5, 2, 3]");
  REQUIRE(y->hasRoot());
  CHECK(y->getRootDomain()[0] == y->getLogicalDomain()[1]);
  CHECK(y->getRootDomain()[2] == y->getLogicalDomain()[0]);
  CHECK(y->definition()->isA<LoadStoreOp>());
  CHECK(y->getLoopDomain() == y->getLogicalDomain());
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "permute takes lists and maps, and negative positions") {
  TensorView* x = constant({2, 3, 5});
  CHECK(shapeText(permute(x, {-1, 0, 1})) == "[5, 2, 3]");
  CHECK(shapeText(permute(x, std::unordered_map<int64_t, int64_t>{{0, -1}})) == "[3, 5, 2]");
  CHECK(shapeText(permute(x, {{0, 1}, {1, 0}})) == "[3, 2, 5]");
  TensorView* same = permute(x, {0, 1, 2});
  CHECK(!same->hasRoot());
  CHECK(shapeText(permute(constant({}), std::vector<int64_t>{})) == "[]");
}

TEST_CASE_FIXTURE(OpFixture, "transpose swaps two axes, or those of a matrix") {
  TensorView* x = constant({2, 3, 5});
  CHECK(shapeText(transpose(x, 0, -1)) == "[5, 3, 2]");
  CHECK(shapeText(transpose(constant({2, 3}))) == "[3, 2]");
  CHECK(shapeText(transpose(constant({4}))) == "[4]");
}

}  // namespace
}  // namespace nvfuser
