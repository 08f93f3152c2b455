#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <unordered_map>

#include <ir/builder.h>
#include <op_fixture.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/reshape_plan.h>
#include <shape_text.h>

namespace nvfuser {
namespace {

Val* extent(TensorView* tv, size_t axis) { return tv->getLogicalDomain().at(axis)->extent(); }

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
  CHECK(y->definition()->as<BroadcastOp>()->flags() == std::vector<int64_t>{1, 0, 1, 0});
  CHECK(broadcast(x, {false, false})->definition()->isA<LoadStoreOp>());
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
  CHECK(y->definition()->as<SqueezeOp>()->flags() == std::vector<int64_t>{1, 0, 1});
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

// ---- reshape ----

TEST_CASE("constant steps are few") {
  using ops::constantSteps;
  using Step = ops::ReshapeStep;
  using enum Step::Kind;
  using Steps = std::vector<Step>;
  CHECK(constantSteps({6}, {2, 3}) == Steps{{Split, 0, 3}});
  CHECK(constantSteps({2, 3}, {6}) == Steps{{Merge, 0, 0}});
  CHECK(constantSteps({4, 6}, {2, 12}) == Steps{{Split, 0, 2}, {Merge, 1, 0}});
  CHECK(constantSteps({2, 12}, {4, 6}) == Steps{{Split, 1, 6}, {Merge, 0, 0}});
  CHECK(constantSteps({2, 3}, {3, 2}) == Steps{{Merge, 0, 0}, {Split, 0, 2}});
  CHECK(constantSteps({24}, {2, 3, 4}) == Steps{{Split, 0, 4}, {Split, 0, 3}});
}

TEST_CASE("constant steps give the wanted sizes, for every factorisation of 360") {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<int64_t> open;
  auto enumerate = [&](auto& self, int64_t rest) -> void {
    if (rest == 1) {
      shapes.push_back(open);
    }
    for (int64_t d = 2; d <= rest && open.size() < 4; ++d) {
      if (rest % d != 0) {
        continue;
      }
      open.push_back(d);
      self(self, rest / d);
      open.pop_back();
    }
  };
  enumerate(enumerate, 360);
  size_t pairs = 0;
  for (size_t a = 0; a < shapes.size(); a += 7) {
    for (const auto& to : shapes) {
      std::vector<int64_t> sizes = shapes[a];
      for (const ops::ReshapeStep& step : ops::constantSteps(sizes, to)) {
        const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(step.position);
        if (step.kind == ops::ReshapeStep::Kind::Merge) {
          *at *= *(at + 1);
          sizes.erase(at + 1);
        } else {
          REQUIRE(*at % step.factor == 0);
          *at /= step.factor;
          sizes.insert(at + 1, step.factor);
        }
      }
      REQUIRE(sizes == to);
      ++pairs;
    }
  }
  CHECK(pairs > 1000);
}

TEST_CASE_FIXTURE(OpFixture, "groups of a reshape") {
  using ops::AxisGroup;
  using ops::groupAxes;
  using Groups = std::vector<AxisGroup>;
  Val* b = IrBuilder::create<Val>(DataType::Index);
  Val* s = IrBuilder::create<Val>(DataType::Index);
  Val* v = IrBuilder::create<Val>(DataType::Index);
  CHECK(groupAxes({b, s, num(768)}, {b, s, num(12), num(64)}) ==
        Groups{{0, 1, 0, 1}, {1, 2, 1, 2}, {2, 3, 2, 4}});
  CHECK(groupAxes({b, s, num(768)}, {nullptr, num(768)}) == Groups{{0, 2, 0, 1}, {2, 3, 1, 2}});
  CHECK(groupAxes({b, num(6)}, {nullptr, num(2), num(3)}) == Groups{{0, 1, 0, 1}, {1, 2, 1, 3}});
  CHECK(groupAxes({b, s}, {s, b}) == Groups{{0, 2, 0, 2}});
  CHECK(groupAxes({num(2), num(3), num(5)}, {num(6), num(5)}) ==
        Groups{{0, 2, 0, 1}, {2, 3, 1, 2}});
  CHECK(groupAxes({num(4), b, num(6)}, {num(2), num(2), b, num(6)}) ==
        Groups{{0, 1, 0, 2}, {1, 2, 2, 3}, {2, 3, 3, 4}});
  // What is left on one side alone goes with its neighbour.
  CHECK(groupAxes({b}, {b, v}) == Groups{{0, 1, 0, 2}});
  CHECK(groupAxes({v, b}, {b}) == Groups{{0, 2, 0, 1}});
}

TEST_CASE_FIXTURE(OpFixture, "static reshape: shapes, transforms and rfactor axes") {
  struct Case {
    std::vector<int64_t> from, to;
    std::string shape, transforms;
  };
  const Case cases[] = {
      {{6, 5}, {2, 3, 5}, "[2, 3, 5]", "Split"},
      {{2, 3, 5}, {6, 5}, "[6, 5]", "Merge"},
      {{2, 3, 5}, {2, 15}, "[2, 15]", "Merge"},
      {{4, 6}, {2, 12}, "[2, 12]", "Split Merge"},
      {{2, 3}, {3, 2}, "[3, 2]", "Merge Split"},
      {{8, 9, 10}, {2, 4, 9, 10}, "[2, 4, 9, 10]", "Split"},
      {{24}, {2, 3, 4}, "[2, 3, 4]", "Split Split"},
      {{24}, {2, -1, 4}, "[2, 3, 4]", "Split Split"},
      {{2, 1, 3}, {6}, "[6]", "Merge"},
      {{6}, {2, 1, 3, 1}, "[2, b, 3, b]", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.shape);
    TensorView* y = reshape(constant(c.from), c.from, c.to);
    CHECK(shapeText(y) == c.shape);
    if (y->definition()->isA<ReshapeOp>()) {
      CHECK(transformsText(y) == c.transforms);
      CHECK(y->hasRoot());
    }
    checkSound(y);
  }
}

TEST_CASE_FIXTURE(OpFixture, "reshape marks the axes that take part, and only these") {
  TensorView* y = reshape(constant({7, 6}), {7, 6}, {7, 2, 3});
  CHECK(y->getLogicalDomain()[0] == y->getRootDomain()[0]);
  CHECK(!y->getLogicalDomain()[0]->isRFactorProduct());
  CHECK(y->getRootDomain()[1]->isRFactorProduct());
  CHECK(y->getLogicalDomain()[1]->isRFactorProduct());
  CHECK(y->getLogicalDomain()[2]->isRFactorProduct());
}

TEST_CASE_FIXTURE(OpFixture, "reshape of axes of extent 1 needs no transform") {
  TensorView* x = constant({1, 3, 1});
  CHECK(chainText(reshape(x, {1, 3, 1}, {3})) == "SqueezeOp SqueezeOp");
  CHECK(chainText(reshape(x, {1, 3, 1}, {3, 1})) == "SqueezeOp SqueezeOp BroadcastOp");
  CHECK(shapeText(reshape(x, {1, 3, 1}, {3, 1})) == "[3, b]");
  CHECK(shapeText(reshape(constant({}), std::vector<int64_t>{}, {1, 1})) == "[b, b]");
  CHECK(shapeText(reshape(constant({1, 1}), {1, 1}, {})) == "[]");
  CHECK(chainText(reshape(constant({3, 5}), {3, 5}, {3, 5})) == "LoadStoreOp");
}

TEST_CASE_FIXTURE(OpFixture, "reshape with original sizes of a symbolic tensor") {
  TensorView* x = symbolic(2);
  TensorView* y = reshape(x, {12, 6}, {12, 2, 3});
  CHECK(y->getLogicalDomain()[0]->extent() == extent(x, 0));
  CHECK(transformsText(y) == "Split");
  CHECK(axisText(y->getLogicalDomain()[2]) == "3");
  TensorView* z = reshape(x, {1, 6}, {6});
  CHECK(chainText(z) == "SelectOp");
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "reshape of empty tensors gives a full of the new shape") {
  TensorView* y = reshape(constant({0, 3}), {0, 3}, {5, 0, 2});
  CHECK(y->definition()->isA<FullOp>());
  CHECK(shapeText(y) == "[5, 0, 2]");
  CHECK(shapeText(reshape(constant({0, 3}), {0, 3}, {3, -1})) == "[3, 0]");
  CHECK(shapeText(flatten(constant({0, 3, 4}), 1, 2)) == "[0, 12]");
}

TEST_CASE_FIXTURE(OpFixture,
                  "symbolic reshape keeps what stays and splits the rest by the new sizes") {
  TensorView* x = constant({-1, -1, 768});
  Val* b = extent(x, 0);
  Val* s = extent(x, 1);
  TensorView* heads = reshape(x, {b, s, num(12), num(64)});
  CHECK(transformsText(heads) == "Split");
  CHECK(heads->getLogicalDomain()[0]->extent() == b);
  CHECK(heads->getLogicalDomain()[1]->extent() == s);
  CHECK(axisText(heads->getLogicalDomain()[2]) == "12");
  checkSound(heads);

  TensorView* rows = reshape(x, {num(-1), num(768)});
  CHECK(transformsText(rows) == "Merge");
  CHECK(axisText(rows->getLogicalDomain()[1]) == "768");
  checkSound(rows);
}

TEST_CASE_FIXTURE(OpFixture, "symbolic reshape that cannot be told apart merges and splits") {
  TensorView* x = symbolic(2);
  Val* n = IrBuilder::create<Val>(DataType::Int);
  TensorView* y = reshape(x, {n, num(-1)});
  CHECK(transformsText(y) == "Merge Split");
  const Expr* split = y->domain()->allExprs().back();
  CHECK(!split->as<Split>()->innerSplit());
  checkSound(y);
  TensorView* z = reshape(x, {num(4), num(-1), num(2)});
  CHECK(transformsText(z) == "Merge Split Split");
  CHECK(axisText(z->getLogicalDomain()[0]) == "4");
  CHECK(axisText(z->getLogicalDomain()[2]) == "2");
  checkSound(z);
}

TEST_CASE_FIXTURE(OpFixture, "symbolic reshape to and from no axes") {
  TensorView* x = symbolic(1);
  CHECK(shapeText(reshape(x, std::vector<Val*>{})) == "[]");
  Val* n = IrBuilder::create<Val>(DataType::Int);
  CHECK(shapeText(reshape(constant({}), {n, num(1)})) == "[b, b]");
  CHECK(transformsText(reshape(x, {extent(x, 0), n})) == "Split");
}

TEST_CASE_FIXTURE(OpFixture, "reshape keeps expanded axes that stay and makes others real") {
  TensorView* x = expand(constant({1, 6}), {num(4), num(-1)});
  TensorView* kept = reshape(x, {num(4), num(2), num(3)});
  CHECK(shapeText(kept) == "[b4, 2, 3]");
  CHECK(chainText(kept) == "ExpandOp ReshapeOp");
  TensorView* merged = reshape(x, {num(24)});
  CHECK(shapeText(merged) == "[24]");
  CHECK(chainText(merged) == "ExpandOp RepeatOp ReshapeOp");
  checkSound(kept);
  checkSound(merged);
}

TEST_CASE_FIXTURE(OpFixture, "flatten merges a range of axes") {
  CHECK(shapeText(flatten(constant({2, 3, 5}))) == "[30]");
  CHECK(shapeText(flatten(constant({2, 3, 5}), 1)) == "[2, 15]");
  CHECK(shapeText(flatten(constant({2, 3, 5}), 0, -2)) == "[6, 5]");
  CHECK(shapeText(flatten(constant({2, 3}), 1, 1)) == "[2, 3]");
  CHECK(shapeText(flatten(constant({}))) == "[b]");
  CHECK(shapeText(flatten(constant({1, 3, 1}))) == "[3]");
  TensorView* y = flatten(symbolic(3), 0, 1);
  CHECK(transformsText(y) == "Merge");
  checkSound(y);
}

// ---- slice ----

TEST_CASE_FIXTURE(OpFixture, "slice of constant ranges has Python's meaning") {
  struct Case {
    int64_t start, stop;
    std::string shape;
  };
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  const Case cases[] = {{2, 5, "[3]"},   {0, 10, "[10]"},  {2, kEnd, "[8]"},  {-3, kEnd, "[3]"},
                        {0, -2, "[8]"},  {-100, 4, "[4]"}, {4, 100, "[6]"},   {5, 2, "[0]"},
                        {20, 30, "[0]"}, {3, 4, "[b]"},    {-1, kEnd, "[b]"}, {0, -100, "[0]"}};
  for (const Case& c : cases) {
    CAPTURE(c.start);
    CAPTURE(c.stop);
    TensorView* y = slice(constant({10}), std::vector{c.start}, std::vector{c.stop});
    CHECK(shapeText(y) == c.shape);
    checkSound(y);
  }
}

TEST_CASE_FIXTURE(OpFixture, "slice puts a Resize on the axes that are cut") {
  TensorView* y = slice(constant({10, 7}), {2, 0}, {5, 7});
  REQUIRE(y->definition()->isA<SliceOp>());
  CHECK(transformsText(y) == "Resize");
  auto* op = y->definition()->as<SliceOp>();
  CHECK(op->start(0)->toInlineString() == "2");
  CHECK(op->stop(0)->toInlineString() == "5");
  CHECK(op->step(1)->isOne());
  CHECK(op->stop(1)->toInlineString() == "7");
  auto* resize = y->getLogicalDomain()[0]->definition()->as<Resize>();
  CHECK(resize->leftExpand()->toInlineString() == "-2");
  CHECK(resize->rightExpand()->toInlineString() == "-5");
  CHECK(y->getLogicalDomain()[0]->isRFactorProduct());
  CHECK(y->getLogicalDomain()[1] == y->getRootDomain()[1]);
  CHECK(slice(constant({10, 2}), {0, 0}, {10, 2})->definition()->isA<LoadStoreOp>());
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "slice to one element selects it, so that it broadcasts") {
  TensorView* y = slice(constant({10, 7}), {2, 1}, {3, 4});
  CHECK(shapeText(y) == "[b, 3]");
  CHECK(chainText(y) == "SliceOp SelectOp BroadcastOp");
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "slice of symbolic ranges holds the bounds in the extent") {
  TensorView* x = symbolic(1);
  Val* a = IrBuilder::create<Val>(DataType::Int);
  Val* b = IrBuilder::create<Val>(DataType::Int);
  TensorView* y = slice(x, {Slice{a, b, nullptr}});
  CHECK(y->definition()->as<SliceOp>()->start(0)->definition()->isA<TernaryOp>());
  TensorView* manual = slice(x, {Slice{a, b, nullptr}}, true);
  auto* op = manual->definition()->as<SliceOp>();
  CHECK(!op->start(0)->sameAs(y->definition()->as<SliceOp>()->start(0)));
  CHECK(slice(x, {Slice{}})->definition()->isA<LoadStoreOp>());
  TensorView* rest = slice(x, {Slice{num(2), extent(x, 0), num(1)}});
  CHECK(rest->definition()->as<SliceOp>()->stop(0) == extent(x, 0));
  checkSound(y);
  checkSound(rest);
}

TEST_CASE_FIXTURE(OpFixture, "slice of broadcast and expanded axes") {
  TensorView* unit = constant({1, 4});
  CHECK(shapeText(slice(unit, {0, 1}, {1, 3})) == "[b, 2]");
  CHECK(shapeText(slice(unit, {1, 0}, {1, 4})) == "[0, 4]");
  TensorView* wide = expand(unit, {num(9), num(-1)});
  TensorView* y = slice(wide, {2, 1}, {6, 3});
  CHECK(shapeText(y) == "[b4, 2]");
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "chunk cuts into equal pieces") {
  auto shapes = [](const std::vector<TensorView*>& pieces) {
    return join(pieces, " ", [](TensorView* tv) { return shapeText(tv); });
  };
  CHECK(shapes(chunk(constant({10, 2}), 3, 0)) == "[4, 2] [4, 2] [2, 2]");
  CHECK(shapes(chunk(constant({6}), 4, 0)) == "[2] [2] [2]");
  CHECK(shapes(chunk(constant({3}), 3, -1)) == "[b] [b] [b]");
  CHECK(shapes(chunk(constant({5}), 1, 0)) == "[5]");
  CHECK(shapes(chunk(constant({0}), 2, 0)) == "[0] [0]");
  std::vector<TensorView*> pieces = chunk(symbolic(1), 3, 0);
  CHECK(pieces.size() == 3);
  for (TensorView* piece : pieces) {
    checkSound(piece);
  }
}

/// Positions on the root axes, walked back from positions on the logical ones.
std::unordered_map<const Val*, int64_t> walkBack(const TensorView* tv,
                                                 const std::vector<int64_t>& position) {
  std::unordered_map<const Val*, int64_t> at;
  for (size_t i = 0; i < position.size(); ++i) {
    at[tv->getLogicalDomain()[i]] = position[i];
  }
  const std::vector<Expr*> transforms = tv->domain()->allExprs();
  for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
    if ((*it)->isA<Split>()) {
      auto* split = (*it)->as<Split>();
      const int64_t length = split->inner()->extent()->value().as<int64_t>();
      at[split->in()] = at.at(split->outer()) * length + at.at(split->inner());
    } else if ((*it)->isA<Merge>()) {
      auto* merge = (*it)->as<Merge>();
      const int64_t length = merge->inner()->extent()->value().as<int64_t>();
      at[merge->outer()] = at.at(merge->out()) / length;
      at[merge->inner()] = at.at(merge->out()) % length;
    } else {
      auto* resize = (*it)->as<Resize>();
      at[resize->in()] = at.at(resize->out()) - resize->leftExpand()->value().as<int64_t>();
    }
  }
  return at;
}

int64_t extentAt(const std::vector<IterDomain*>& ids, size_t i) {
  return ids[i]->extent()->value().as<int64_t>();
}

/// Calls `body` with the row-major number and the position of every element.
void forEachElement(const TensorView* tv,
                    const std::function<void(int64_t, const std::vector<int64_t>&)>& body) {
  const std::vector<IterDomain*>& ids = tv->getLogicalDomain();
  std::vector<int64_t> position(ids.size(), 0);
  for (int64_t number = 0;; ++number) {
    body(number, position);
    size_t i = ids.size();
    while (i > 0 && ++position[i - 1] == extentAt(ids, i - 1)) {
      position[--i] = 0;
    }
    if (i == 0) {
      return;
    }
  }
}

TEST_CASE_FIXTURE(OpFixture, "the transforms of a reshape keep every element's row-major number") {
  const std::vector<int64_t> shapes[] = {{60},      {4, 15},      {15, 4},      {6, 10},
                                         {3, 4, 5}, {5, 2, 2, 3}, {2, 3, 2, 5}, {10, 6}};
  for (const auto& from : shapes) {
    for (const auto& to : shapes) {
      TensorView* y = reshape(constant(from), from, to);
      forEachElement(y, [&](int64_t number, const std::vector<int64_t>& position) {
        auto at = walkBack(y, position);
        int64_t old_number = 0;
        for (size_t i = 0; i < from.size(); ++i) {
          const int64_t index = at.at(y->getMaybeRootDomain()[i]);
          REQUIRE(index >= 0);
          REQUIRE(index < from[i]);
          old_number = old_number * from[i] + index;
        }
        REQUIRE(old_number == number);
      });
    }
  }
}

TEST_CASE_FIXTURE(OpFixture, "the transforms of slice and pad move by the offset") {
  TensorView* cut = slice(constant({10, 7}), {2, 1}, {5, 7});
  forEachElement(cut, [&](int64_t, const std::vector<int64_t>& position) {
    auto at = walkBack(cut, position);
    CHECK(at.at(cut->getRootDomain()[0]) == position[0] + 2);
    CHECK(at.at(cut->getRootDomain()[1]) == position[1] + 1);
  });
  TensorView* padded = pad(constant({3}), {num(2), num(1)});
  forEachElement(padded, [&](int64_t, const std::vector<int64_t>& position) {
    CHECK(walkBack(padded, position).at(padded->getRootDomain()[0]) == position[0] - 2);
  });
}

// ---- pad and cat ----

TEST_CASE_FIXTURE(OpFixture, "pad counts widths from the last axis") {
  TensorView* x = constant({3, 5}, DataType::Half);
  TensorView* y = pad(x, {num(1), num(2)});
  CHECK(shapeText(y) == "[3, 8]");
  CHECK(y->dtype() == DataType::Half);
  auto* op = y->definition()->as<PadOp>();
  CHECK(op->value()->isZero());
  CHECK(op->value()->dtype() == DataType::Half);
  CHECK(op->leftWidth(1)->isOne());
  CHECK(op->rightWidth(1)->toInlineString() == "2");
  CHECK(op->leftWidth(0)->isZero());
  CHECK(transformsText(y) == "Resize");
  CHECK(shapeText(pad(x, {num(0), num(0), num(1), num(1)})) == "[5, 5]");
  CHECK(shapeText(pad(x, {num(-1), num(-1)})) == "[3, 3]");
  CHECK(pad(x, {num(0), num(0)})->definition()->isA<LoadStoreOp>());
  CHECK(pad(x, {})->definition()->isA<LoadStoreOp>());
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "pad of broadcast axes makes them real") {
  TensorView* y = pad(constant({3, 1}), {num(1), num(2)});
  CHECK(shapeText(y) == "[3, 4]");
  CHECK(chainText(y) == "RepeatOp PadOp");
  TensorView* unit = pad(constant({3, 5}), {num(-4), num(0)});
  CHECK(shapeText(unit) == "[3, b]");
  checkSound(y);
  checkSound(unit);
}

TEST_CASE_FIXTURE(OpFixture, "cat pads every part to the whole and joins them") {
  TensorView* a = constant({2, 5});
  TensorView* b = constant({3, 5});
  TensorView* c = constant({4, 5});
  TensorView* y = cat({a, b, c}, 0);
  CHECK(shapeText(y) == "[9, 5]");
  auto* op = y->definition()->as<CatOp>();
  CHECK(op->concatenatedDim() == 0);
  REQUIRE(op->inputs().size() == 3);
  auto* middle = op->input(1)->definition()->as<PadOp>();
  CHECK(middle->leftWidth(0)->toInlineString() == "2");
  CHECK(middle->rightWidth(0)->toInlineString() == "4");
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "cat of one part, of empty parts, of broadcast axes") {
  TensorView* a = constant({2, 1});
  CHECK(cat({a}, 0)->definition()->isA<LoadStoreOp>());
  CHECK(shapeText(cat({a, constant({0, 1})}, 0)) == "[2, b]");
  CHECK(shapeText(cat({constant({0, 3}), constant({0, 3})}, 0)) == "[0, 3]");
  TensorView* y = cat({a, a}, -1);
  CHECK(shapeText(y) == "[2, 2]");
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "cat of symbolic sizes") {
  TensorView* y = cat({symbolic(2), symbolic(2)}, 1);
  CHECK(y->definition()->isA<CatOp>());
  CHECK(y->getLogicalDomain()[1]->isIteration());
  auto* first = y->definition()->input(0)->definition()->as<PadOp>();
  CHECK(first->leftWidth(1)->isZero());
  checkSound(y);
}

TEST_CASE_FIXTURE(OpFixture, "cat of parts that the caller padded") {
  TensorView* a = pad(constant({2}), {num(0), num(3)});
  TensorView* b = pad(constant({3}), {num(2), num(0)});
  TensorView* y = cat({a, b}, 0, std::nullopt, true);
  CHECK(shapeText(y) == "[5]");
  CHECK(y->definition()->input(0) == a);
}

}  // namespace
}  // namespace nvfuser
