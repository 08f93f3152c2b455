// Parts and joins: slice, chunk, pad, cat.
#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include <axis_walk.h>
#include <ir/builder.h>
#include <op_fixture.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <shape_text.h>

namespace nvfuser {
namespace {

Val* at(int64_t number) { return IrBuilder::create<Val>(number, DataType::Index); }

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

TEST_CASE_FIXTURE(OpFixture, "strided slices step along the Resize, backwards, too") {
  TensorView* y =
      stridedSlice(constant({10, 7, 5}), {{at(1), nullptr, 3}, {nullptr, at(2), -2}, {}});
  CHECK(shapeText(y) == "[3, 2, 5]");  // 1, 4, 7 and 6, 4
  REQUIRE(y->definition()->isA<SliceOp>());
  auto* op = y->definition()->as<SliceOp>();
  CHECK(op->start(1)->toInlineString() == "6");
  CHECK(op->stop(1)->toInlineString() == "2");
  CHECK(op->step(1)->toInlineString() == "-2");
  const auto* first = y->getLogicalDomain()[0]->definition()->as<Resize>();
  const auto* second = y->getLogicalDomain()[1]->definition()->as<Resize>();
  CHECK(std::pair(first->step(), second->step()) == std::pair(int64_t{3}, int64_t{-2}));
  CHECK(y->getLogicalDomain()[2] == y->getRootDomain()[2]);
  checkSound(y);
  CHECK(shapeText(stridedSlice(constant({10}), {{at(9), at(1), -1}})) == "[b]");
  CHECK(stridedSlice(constant({10}), {{}})->definition()->isA<LoadStoreOp>());
}

TEST_CASE_FIXTURE(OpFixture, "flip turns the named axes, but for those of one element") {
  TensorView* y = flip(constant({10, 7, 1}), {-1, 0});
  CHECK(shapeText(y) == "[10, 7, b]");
  CHECK(transformsText(y) == "Resize");
  CHECK(y->getLogicalDomain()[0]->definition()->as<Resize>()->step() == -1);
  checkSound(y);
  CHECK(flip(constant({10}), {})->definition()->isA<LoadStoreOp>());
}

TEST_CASE_FIXTURE(OpFixture, "strided slices and flips refuse what leaves the axis") {
  TensorView* x = constant({10});
  const auto refuses = [](const std::function<void()>& define, const std::string& words) {
    CHECK_THROWS_WITH_AS(define(), doctest::Contains(words.c_str()), UserError);
  };
  refuses([&] { stridedSlice(x, {{at(1), at(4), 3}}); }, "are not all within the 10 of axis 0");
  refuses([&] { stridedSlice(x, {{at(3), at(5), -1}}); }, "the 5 elements from 3 on, -1 apart");
  refuses([&] { stridedSlice(x, {{at(0), at(1), 0}}); }, "the stride of axis 0");
  refuses([&] { stridedSlice(x, {{}, {}}); }, "has 1 axes, but steps of 2 are given");
  refuses([&] { flip(x, {0, -1}); }, "axis 0 of");
  refuses([&] { flip(x, {1}); }, "flip");
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
  CHECK(y->getLogicalDomain()[1]->isSymbolic());
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
