// Reshape and flatten: groups of axes, steps, and where each element goes.
#include <doctest/doctest.h>

#include <limits>

#include <axis_walk.h>
#include <ir/builder.h>
#include <op_fixture.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/reshape_plan.h>
#include <shape_text.h>

namespace nvfuser {
namespace {

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

}  // namespace
}  // namespace nvfuser
