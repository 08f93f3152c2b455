// Fingerprints of scalars: equal by structure, remembered until a definition changes, read once.
#include <doctest/doctest.h>

#include <ir/builder.h>
#include <ir/cloner.h>
#include <ir/spelling.h>

using namespace nvfuser;

namespace {

Val* symbol(DataType dtype = DataType::Index) { return IrBuilder::create<Val>(dtype); }
Val* constant(int64_t value, DataType dtype = DataType::Index) {
  return IrBuilder::create<Val>(PolymorphicValue(value), dtype);
}

/// x_(k+1) = x_k + x_k: `steps` operations, 2^steps when they are spelled out.
Val* doubled(Val* x, int steps) {
  for (int i = 0; i < steps; ++i) {
    x = IrBuilder::addExpr(x, x);
  }
  return x;
}

}  // namespace

TEST_CASE("fingerprint: what is computed in the same way is the same") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  Val* a = symbol();
  Val* b = symbol();
  CHECK(IrBuilder::addExpr(a, b)->sameAs(IrBuilder::addExpr(a, b)));
  CHECK_FALSE(IrBuilder::addExpr(a, b)->sameAs(IrBuilder::addExpr(b, a)));
  CHECK_FALSE(IrBuilder::addExpr(a, b)->sameAs(IrBuilder::subExpr(a, b)));
  CHECK_FALSE(a->sameAs(b));
  CHECK_FALSE(symbol()->sameAs(symbol()));
  CHECK(constant(7)->sameAs(constant(7)));
  CHECK_FALSE(constant(7)->sameAs(constant(8)));
  CHECK_FALSE(constant(7)->sameAs(constant(7, DataType::Int)));
  CHECK_FALSE(constant(0)->sameAs(IrBuilder::create<Val>(PolymorphicValue(0.0))));
  CHECK(IrBuilder::create<NamedScalar>("blockDim.x", DataType::Index)
            ->sameAs(IrBuilder::create<NamedScalar>("blockDim.x", DataType::Index)));
}

TEST_CASE("fingerprint: says whether a symbol is in a scalar") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  CHECK(IrBuilder::addExpr(constant(1), constant(2))->isConstScalar());
  CHECK_FALSE(IrBuilder::addExpr(constant(1), symbol())->isConstScalar());
  CHECK_FALSE(IrBuilder::create<NamedScalar>("blockDim.x", DataType::Index)->isConstScalar());
}

TEST_CASE("fingerprint: deep definitions that share their parts") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  Val* a = symbol();
  CHECK(doubled(a, 20000)->sameAs(doubled(a, 20000)));
  CHECK_FALSE(doubled(a, 20000)->sameAs(doubled(a, 19999)));
  CHECK_FALSE(isSpelledOut(doubled(a, 20000)));
  CHECK(isSpelledOut(doubled(a, 5)));
  CHECK(doubled(a, 5)->toInlineString().size() < 400);
  Val* long_one = doubled(a, 6);
  CHECK(long_one->toInlineString() == long_one->toString());
}

TEST_CASE("fingerprint: forgotten where a definition changes") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  Val* a = symbol();
  Val* b = symbol();
  Val* sum = IrBuilder::addExpr(a, a);
  Val* twice = IrBuilder::mulExpr(sum, constant(2));
  Val* other = IrBuilder::mulExpr(IrBuilder::addExpr(a, b), constant(2));
  CHECK_FALSE(twice->sameAs(other));
  SUBCASE("an operand is replaced") {
    fusion.replaceInput(sum->definition(), a, b);
    CHECK_FALSE(twice->sameAs(other));
    CHECK(twice->sameAs(IrBuilder::mulExpr(IrBuilder::addExpr(b, b), constant(2))));
  }
  SUBCASE("a computed scalar becomes an input, and is computed again") {
    Val* same = IrBuilder::mulExpr(IrBuilder::addExpr(a, a), constant(2));
    CHECK(twice->sameAs(same));
    fusion.addInput(sum);
    CHECK_FALSE(twice->sameAs(same));
    fusion.removeInput(sum);
    CHECK(twice->sameAs(same));
  }
  SUBCASE("a definition is removed") {
    Val* same = IrBuilder::mulExpr(IrBuilder::addExpr(a, a), constant(2));
    CHECK(twice->sameAs(same));
    fusion.removeExpr(sum->definition());
    CHECK_FALSE(twice->sameAs(same));
  }
}

TEST_CASE("fingerprint: a copy's scalars are its own") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  Val* a = symbol();
  Val* sum = IrBuilder::addExpr(a, constant(1));
  sum->fingerprint();
  Fusion copy;
  IrCloner cloner = Fusion::copy(&fusion, &copy);
  CHECK_FALSE(cloner.clone(sum)->sameAs(sum));
  FusionGuard of_copy(&copy);
  CHECK(cloner.clone(sum)->sameAs(IrBuilder::addExpr(cloner.clone(a), constant(1))));
}
