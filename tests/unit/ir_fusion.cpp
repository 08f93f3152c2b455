// The Fusion as a graph: printing, copies, structural equality, order, the verifier.
#include <doctest/doctest.h>

#include <algorithm>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/cloner.h>
#include <ops/all_ops.h>
#include <scheduler/utils.h>

using namespace nvfuser;

namespace {

/// out = (x + y) · s, summed over axis 1.
void define(Fusion& fusion, DataType dtype = DataType::Float, bool extra = false) {
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(2, dtype);
  TensorView* y = makeContigTensor(2, dtype);
  Val* s = IrBuilder::create<Val>(DataType::Double);
  fusion.addInput(x);
  fusion.addInput(y);
  fusion.addInput(s);
  TensorView* total = mul(add(x, y), s);
  if (extra) {
    total = neg(total);
  }
  fusion.addOutput(sum(total, {1}));
}

}  // namespace

TEST_CASE("fusion: text of a definition") {
  Fusion fusion;
  define(fusion);
  const std::string math = fusion.mathString();
  for (const std::string part :
       {"T0_g_float", "T1_g_float", "T2_l_float", "add( ", "mul( ", "reduction_add( "}) {
    CHECK_MESSAGE(math.find(part) != std::string::npos, part, " is missing in\n", math);
  }
  CHECK(fusion.toString().find(math) != std::string::npos);
  Fusion same;
  define(same);
  CHECK(same.toString() == fusion.toString());
}

TEST_CASE("fusion: the schedule is in the text") {
  Fusion fusion;
  define(fusion);
  auto* out = fusion.outputs()[0]->as<TensorView>();
  out->split(0, 32);
  out->axis(1)->parallelize(ParallelType::TIDx);
  CHECK(out->toString().find("ithreadIdx.x") != std::string::npos);
  CHECK(fusion.transformsString().find("32") != std::string::npos);
}

TEST_CASE("fusion: equal definitions are equal, all others are not") {
  Fusion a;
  Fusion b;
  Fusion wider;
  Fusion longer;
  define(a);
  define(b);
  define(wider, DataType::Double);
  define(longer, DataType::Float, true);
  CHECK(a.sameDefinition(b));
  CHECK(a.hash() == b.hash());
  for (Fusion* other : {&wider, &longer}) {
    CHECK_FALSE(a.sameDefinition(*other));
    CHECK(a.hash() != other->hash());
  }
  SUBCASE("a schedule makes a difference") {
    b.outputs()[0]->as<TensorView>()->split(0, 4);
    CHECK_FALSE(a.sameDefinition(b));
  }
  SUBCASE("so does an alias") {
    FusionGuard guard(&b);
    TensorView* x = b.inputs()[0]->as<TensorView>();
    b.aliasOutputToInput(neg(x), x, AllocationType::ReuseBuffer);
    CHECK_FALSE(a.sameDefinition(b));
  }
  SUBCASE("and what a reshape requires") {
    auto reshaped = [](Fusion& fusion, int64_t first) {
      FusionGuard guard(&fusion);
      TensorView* x = makeContigTensor(1);
      fusion.addInput(x);
      fusion.addOutput(reshape(x, {IrBuilder::create<Val>(PolymorphicValue(first)),
                                   IrBuilder::create<Val>(PolymorphicValue(3))}));
    };
    Fusion two;
    Fusion four;
    reshaped(two, 2);
    reshaped(four, 4);
    CHECK_FALSE(two.sameDefinition(four));
  }
}

TEST_CASE("fusion: a copy is equal and independent") {
  Fusion fusion;
  define(fusion);
  {
    FusionGuard guard(&fusion);
    auto* out = fusion.outputs()[0]->as<TensorView>();
    out->split(0, 4);
    out->axis(1)->parallelize(ParallelType::TIDx);
    TensorView* x = fusion.inputs()[0]->as<TensorView>();
    fusion.aliasOutputToInput(neg(x), x, AllocationType::ReuseBuffer);
    fusion.manage("answer", int64_t{42});
  }
  const std::string before = fusion.toString();
  Fusion copy(fusion);
  CHECK(copy.toString() == before);
  CHECK(copy.sameDefinition(fusion));
  CHECK(copy.getManaged<int64_t>("answer") == 42);
  CHECK(copy.getOutputAlias(copy.outputs()[1]).aliased_io == copy.inputs()[0]);
  copy.verify();
  for (const auto& val : copy.vals()) {
    REQUIRE(val->fusion() == &copy);
  }
  for (const auto& expr : copy.allExprs()) {
    REQUIRE(expr->fusion() == &copy);
    for (const Val* in : expr->inputs()) {
      REQUIRE(in->fusion() == &copy);
    }
  }
  {
    FusionGuard guard(&copy);
    copy.addOutput(exp(copy.inputs()[1]->as<TensorView>()));
  }
  CHECK(fusion.toString() == before);
  Fusion moved(std::move(copy));
  CHECK(moved.outputs().size() == 3);
  CHECK(moved.outputs()[2]->fusion() == &moved);
  fusion = moved;
  CHECK(fusion.sameDefinition(moved));
}

TEST_CASE("fusion: the cloner maps old nodes to new ones") {
  Fusion fusion;
  define(fusion);
  Fusion to;
  IrCloner cloner = Fusion::copy(&fusion, &to);
  for (size_t i = 0; i < fusion.inputs().size(); ++i) {
    CHECK(cloner.clone(fusion.inputs()[i]) == to.inputs()[i]);
    CHECK(fusion.inputs()[i]->name() == to.inputs()[i]->name());
  }
  CHECK(cloner.clone(static_cast<Val*>(nullptr)) == nullptr);
}

TEST_CASE("fusion: expressions that lead to an output, producers first") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(1);
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* dead = exp(a);
  TensorView* b = sin(a);
  fusion.addOutput(b);
  const std::vector<Expr*> exprs = fusion.exprs();
  CHECK(exprs == std::vector<Expr*>{a->definition(), b->definition()});
  CHECK(fusion.usesOf(a) == std::vector<Expr*>{b->definition()});
  CHECK(fusion.allTvs() == std::vector<TensorView*>{x, a, b});
  fusion.addOutput(dead);
  CHECK(fusion.exprs().size() == 3);
  fusion.removeOutput(b);
  CHECK(fusion.exprs() == std::vector<Expr*>{a->definition(), dead->definition()});
}

TEST_CASE("fusion: long chains need no deep stack") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(1);
  fusion.addInput(x);
  TensorView* y = x;
  constexpr int kLength = 20000;
  for (int i = 0; i < kLength; ++i) {
    y = neg(y);
  }
  fusion.addOutput(y);
  CHECK(fusion.exprs().size() == kLength);
  fusion.verify();
  CHECK(Fusion(fusion).exprs().size() == kLength);
}

TEST_CASE("verifier: sound fusions pass, broken ones are named") {
  Fusion fusion;
  define(fusion);
  CHECK_NOTHROW(fusion.verify());
  FusionGuard guard(&fusion);
  auto* out = fusion.outputs()[0]->as<TensorView>();
  auto* x = fusion.inputs()[0]->as<TensorView>();
  SUBCASE("axes of another tensor") {
    out->setLoopDomain(x->getLoopDomain());
    CHECK_THROWS_WITH_AS(fusion.verify(), doctest::Contains("does not come from its logical"),
                         UserError);
  }
  SUBCASE("an axis twice") {
    out->setLoopDomain({out->axis(0), out->axis(0)});
    CHECK_THROWS_WITH_AS(fusion.verify(), doctest::Contains("stands twice in a domain of"),
                         UserError);
  }
  SUBCASE("an input that was taken away") {
    fusion.removeInput(x);
    CHECK_THROWS_WITH_AS(fusion.verify(), doctest::Contains("addInput it"), UserError);
  }
}

TEST_CASE("scalars: equality is structural, symbols are themselves") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  Val* a = IrBuilder::create<Val>(DataType::Index);
  Val* b = IrBuilder::create<Val>(DataType::Index);
  CHECK(a->sameAs(a));
  CHECK_FALSE(a->sameAs(b));
  CHECK(add(a, b)->sameAs(add(a, b)));
  CHECK_FALSE(add(a, b)->sameAs(mul(a, b)));
  CHECK_FALSE(add(a, b)->sameAs(add(a, a)));
  CHECK(
      add(IrBuilder::create<Val>(PolymorphicValue(2)), IrBuilder::create<Val>(PolymorphicValue(3)))
          ->evaluate() == PolymorphicValue(5));
  CHECK_FALSE(a->evaluate().hasValue());
  CHECK(fusion.zeroVal(DataType::Index) == fusion.zeroVal(DataType::Index));
}
