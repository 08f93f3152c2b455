#include <doctest/doctest.h>

#include <algorithm>

#include <ir/builder.h>
#include <op_fixture.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/composite.h>
#include <ops/indexing.h>
#include <shape_text.h>

namespace nvfuser {
namespace {

// ---- composite ----

TEST_CASE_FIXTURE(OpFixture, "dropout: one draw, a Bool mask") {
  TensorView* x = constant({3, 5}, DataType::Half);
  ForwardDropoutResult r = dropout(x, real(0.25));
  CHECK(shapeText(r.output) == "[3, 5]");
  CHECK(r.mask->dtype() == DataType::Bool);
  CHECK(r.output->dtype() == DataType::Float);
  auto* compare = r.mask->definition()->as<BinaryOp>();
  CHECK(compare->getBinaryOpType() == BinaryOpType::LT);
  CHECK(compare->lhs()->definition()->isA<RNGOp>());
  CHECK(compare->lhs()->dtype() == DataType::Float);
  checkSound({r.output, r.mask, dropout_backward(constant({3, 5}), r.mask, real(1.25))});
}

TEST_CASE_FIXTURE(OpFixture, "dropout with a scale takes the probability to keep") {
  Val* keep = IrBuilder::create<Val>(DataType::Double);
  ForwardDropoutResult r = dropout(constant({3}), keep, real(2.0));
  const Val* bound = r.mask->definition()->as<BinaryOp>()->rhs();
  CHECK(bound == keep);
}

TEST_CASE_FIXTURE(OpFixture, "activations keep shape, Half is computed in Float") {
  TensorView* x = constant({3, 1, 5}, DataType::Half);
  TensorView* dy = constant({3, 1, 5}, DataType::Half);
  const std::vector<TensorView*> results = {gelu(x),
                                            tanh_gelu(x),
                                            gelu_backward(dy, x),
                                            tanh_gelu_backward(dy, x),
                                            tanh_backward(dy, x),
                                            leaky_relu(x, real(0.1)),
                                            softplus(x, real(1.0), real(20.0))};
  for (TensorView* tv : results) {
    CHECK(shapeText(tv) == "[3, b, 5]");
    CHECK(tv->dtype() == DataType::Float);
  }
  CHECK(gelu(constant({2}, DataType::Double))->dtype() == DataType::Double);
  checkSound(results);
}

TEST_CASE_FIXTURE(OpFixture, "triu compares columns with shifted rows") {
  TensorView* y = triu(constant({2, 3, 4}, DataType::Int), num(1));
  CHECK(shapeText(y) == "[2, 3, 4]");
  CHECK(y->dtype() == DataType::Int);
  checkSound({y});
  const std::vector<Expr*> exprs = fusion.exprs();
  CHECK(std::count_if(exprs.begin(), exprs.end(), [](Expr* e) { return e->isA<IotaOp>(); }) == 2);
}

TEST_CASE_FIXTURE(OpFixture, "lstm") {
  TensorView* x = constant({4, 6});
  LstmResult r = lstm(x, constant({4, 6}), constant({4, 6}), constant({4, 6}), constant({4, 6}));
  CHECK(shapeText(r.cell) == "[4, 6]");
  CHECK(shapeText(r.hidden) == "[4, 6]");
  checkSound({r.cell, r.hidden});
}

TEST_CASE_FIXTURE(OpFixture, "view_as_real adds an axis of two reals") {
  TensorView* y = view_as_real(constant({3}, DataType::ComplexFloat));
  CHECK(shapeText(y) == "[3, 2]");
  CHECK(y->dtype() == DataType::Float);
  CHECK(y->definition()->isA<ViewAsScalar>());
  checkSound({y});
  // Any operation on it makes an ordinary axis of the pairs.
  CHECK(set(y)->getLogicalDomain()[1]->isIteration());
}

// ---- indexing ----

TEST_CASE_FIXTURE(OpFixture, "select drops the axis") {
  TensorView* x = constant({3, 4, 5});
  TensorView* y = select(x, 1, num(2));
  CHECK(shapeText(y) == "[3, 5]");
  CHECK(y->definition()->as<SelectOp>()->dim() == 1);
  CHECK(y->definition()->input(1)->toInlineString() == "2");
  TensorView* last = select(x, -1, num(-1));
  CHECK(last->definition()->input(1)->toInlineString() == "4");
  CHECK(shapeText(select(constant({3}), 0, num(0))) == "[]");
  Val* i = IrBuilder::create<Val>(DataType::Int);
  CHECK(select(x, 0, i)->definition()->input(1)->definition()->isA<TernaryOp>());
  checkSound({y, last});
}

TEST_CASE_FIXTURE(OpFixture, "indexSelect takes the index's axis") {
  TensorView* x = constant({3, 4, 5});
  TensorView* y = indexSelect(x, 1, constant({7}, DataType::Int));
  CHECK(shapeText(y) == "[3, 7, 5]");
  TensorView* one = indexSelect(x, -1, constant({}, DataType::Int32));
  CHECK(shapeText(one) == "[3, 4, b]");
  checkSound({y, one});
}

TEST_CASE_FIXTURE(OpFixture, "gather has the index's shape") {
  TensorView* x = constant({6, 5}, DataType::Half);
  TensorView* y = gather(x, 0, constant({2, 3}, DataType::Int));
  CHECK(shapeText(y) == "[2, 3]");
  CHECK(y->dtype() == DataType::Half);
  CHECK(!y->definition()->as<GatherOp>()->exactSizes());
  TensorView* other = gather(x, -1, constant({6, 9}, DataType::Int));
  CHECK(shapeText(other) == "[6, 9]");
  checkSound({y, other});
}

TEST_CASE_FIXTURE(OpFixture, "takeAlongAxis broadcasts the other axes") {
  TensorView* x = constant({6, 5});
  TensorView* y = takeAlongAxis(x, constant({6, 2}, DataType::Int), 1);
  CHECK(shapeText(y) == "[6, 2]");
  CHECK(y->definition()->as<GatherOp>()->exactSizes());
  TensorView* wide = takeAlongAxis(x, constant({1, 2}, DataType::Int), 1);
  CHECK(shapeText(wide) == "[6, 2]");
  TensorView* index =
      takeAlongAxis(x, constant({6, 2}), 1)->definition()->input(1)->as<TensorView>();
  CHECK(index->dtype() == DataType::Int);  // cut to integers
  checkSound({y, wide});
}

TEST_CASE_FIXTURE(OpFixture, "scatter copies self, the source is a tensor or a scalar") {
  TensorView* x = constant({6, 5});
  TensorView* index = constant({2, 5}, DataType::Int);
  TensorView* y = scatter(x, 0, index, constant({2, 5}));
  CHECK(shapeText(y) == "[6, 5]");
  TensorView* z = scatter(x, 0, index, IrBuilder::create<Val>(DataType::Double));
  CHECK(z->definition()->input(2)->dtype() == DataType::Float);
  TensorView* wide = scatter(expand(constant({1, 5}), {num(6), num(5)}), 0, index, real(1.0));
  CHECK(shapeText(wide) == "[6, 5]");
  checkSound({y, z, wide});
}

}  // namespace
}  // namespace nvfuser
