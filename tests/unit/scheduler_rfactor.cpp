#include <doctest/doctest.h>

#include <ir/fusion.h>
#include <ops/all_ops.h>
#include <schedule_checks.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

std::string rootText(const TensorView* tv) {
  return "[" +
         join(tv->getMaybeRootDomain(), ", ", [](const IterDomain* id) { return axisText(id); }) +
         "]";
}

std::string logicalText(const TensorView* tv) {
  return "[" +
         join(tv->getLogicalDomain(), ", ", [](const IterDomain* id) { return axisText(id); }) +
         "]";
}

struct Summed {
  Fusion fusion;
  FusionGuard guard{&fusion};
  TensorView* in = makeContigConcreteTensor({6, 40});
  TensorView* source;
  TensorView* s;
  TensorView* out;
  Summed() {
    fusion.addInput(in);
    source = neg(in);
    s = sum(source, {1});
    out = exp(s);
    fusion.addOutput(out);
  }
};

TEST_CASE("the outer part first") {
  Summed f;
  f.s->split(1, 8);
  f.s->axis(2)->parallelize(ParallelType::TIDx);
  f.s->axis(0)->parallelize(ParallelType::BIDx);
  TensorView* partial = f.s->rFactor({1});
  CHECK(rootText(partial) == "[6, r40]");
  CHECK(logicalText(partial) == "[6, r5, 8]");
  CHECK(loopText(partial) == "[6, r5, 8]");
  CHECK(logicalText(f.s) == "[6, r8]");
  CHECK_FALSE(f.s->hasRoot());
  CHECK(loopText(f.s) == "[6, r8]");
  CHECK(partial->axis(1)->isRFactorProduct());
  CHECK(partial->axis(2)->isRFactorProduct());
  CHECK(partial->definition()->input(0) == f.source);
  CHECK(f.s->definition()->input(0) == partial);
  CHECK(f.out->definition()->input(0) == f.s);
  for (TensorView* tv : {partial, f.s}) {
    CHECK(tv->axis(0)->getParallelType() == ParallelType::BIDx);
    CHECK(tv->axis(-1)->getParallelType() == ParallelType::TIDx);
  }
  CHECK(partial->getMemoryType() == MemoryType::Local);
  checkSound(f.fusion);
  scheduler_utils::transformPropagateToAllFrom(partial);
  CHECK(loopText(f.source) == "[6, 5, 8]");
  CHECK(loopText(f.out) == "[6]");
  inlineMost();
  checkSound(f.fusion);
  CHECK(f.source->getComputeAtPosition() == 3);
  CHECK(partial->getComputeAtPosition() == 1);
}

TEST_CASE("the inner part first, later splits of what stays, two steps in a row") {
  Summed f;
  f.s->split(1, 8);
  f.s->split(1, 2);  // [6, r3, r2, r8]
  f.s->split(0, 4);  // [2, 4, r3, r2, r8]
  TensorView* first = f.s->rFactor({-1});
  CHECK(logicalText(first) == "[6, 5, r8]");
  CHECK(loopText(first) == "[2, 4, 3, 2, r8]");
  CHECK(logicalText(f.s) == "[6, r5]");
  CHECK(loopText(f.s) == "[2, 4, r3, r2]");
  TensorView* second = f.s->rFactor({2});
  CHECK(logicalText(second) == "[6, r3, 2]");
  CHECK(loopText(f.s) == "[2, 4, r2]");
  TensorView* of_first = nullptr;
  SUBCASE("and of a first step, which keeps what its operation made") {
    first->split(-1, 4);
    of_first = first->rFactor({-2});
    CHECK(rootText(of_first) == "[6, r40]");
    CHECK(logicalText(of_first) == "[6, 5, r2, 4]");
    CHECK(loopText(first) == "[2, 4, 3, 2, r4]");
  }
  checkSound(f.fusion);
  CHECK(f.fusion.exprs().size() == (of_first != nullptr ? 6 : 5));
}

TEST_CASE("a merged reduction, reordered, with broadcast axes and other operations") {
  for (BinaryOpType type :
       {BinaryOpType::Add, BinaryOpType::Mul, BinaryOpType::Max, BinaryOpType::Min}) {
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* in = makeContigConcreteTensor({5, 4, 7});
    fusion.addInput(in);
    TensorView* out = reductionOp(type, {0, 2}, IrBuilder::create<Val>(3.0), in);
    fusion.addOutput(out);
    out->reorder({{0, 1}});
    out->merge(1)->split(1, 8);
    CHECK(loopText(out) == "[4, r5, r8]");
    TensorView* partial = out->rFactor({2});
    CHECK(logicalText(partial) == "[5, r8, 4]");
    CHECK(loopText(partial) == "[4, 5, r8]");
    CHECK(loopText(out) == "[4, r5]");
    CHECK(partial->definition()->as<ReductionOp>()->getReductionOpType() == type);
    CHECK(out->definition()->as<ReductionOp>()->init()->value() == PolymorphicValue(3.0));
    const Val* identity = partial->definition()->as<ReductionOp>()->init();
    if (type == BinaryOpType::Add) {
      CHECK(identity->isZero());
    }
    if (type == BinaryOpType::Mul) {
      CHECK(identity->isOne());
    }
    checkSound(fusion);
  }
}

TEST_CASE("one of several reduction axes, without transforms") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigConcreteTensor({5, 4, 7});
  fusion.addInput(in);
  TensorView* out = sum(in, {0, 2});
  fusion.addOutput(out);
  TensorView* partial = out->rFactor({0});
  CHECK(logicalText(partial) == "[r5, 4, 7]");
  CHECK_FALSE(partial->hasRoot());
  CHECK(logicalText(out) == "[4, r7]");
  checkSound(fusion);
}

TEST_CASE("memory order stays") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigConcreteTensor({5, 4, 8});
  fusion.addInput(in);
  TensorView* out = sum(in, {2});
  fusion.addOutput(out);
  const auto axes = out->getLogicalDomain();
  out->setAllocationDomain({axes[1], axes[0], axes[2]}, true);
  out->split(2, 4);
  out->rFactor({2});
  REQUIRE(out->hasAllocation());
  CHECK(out->getAllocationDomain()[0] == out->getLogicalDomain()[1]);
  CHECK(out->getAllocationDomain()[1] == out->getLogicalDomain()[0]);
  checkSound(fusion);
}

TEST_CASE("Welford: three results together") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigConcreteTensor({6, 40});
  fusion.addInput(in);
  WelfordResult w = Welford(in, {1});
  TensorView* out = add(w.avg, w.var_sum);
  fusion.addOutput(out);
  w.avg->split(1, 8);
  std::vector<TensorView*> partial = w.avg->rFactor({1}, {w.avg, w.var_sum, w.n});
  REQUIRE(partial.size() == 3);
  for (TensorView* tv : partial) {
    CHECK(logicalText(tv) == "[6, r5, 8]");
  }
  for (TensorView* tv : {w.avg, w.var_sum, w.n}) {
    CHECK(loopText(tv) == "[6, r8]");
  }
  auto* first = partial[0]->definition()->as<WelfordOp>();
  auto* second = w.avg->definition()->as<WelfordOp>();
  CHECK(first->outVar() == partial[1]);
  CHECK(second->inVar() == partial[1]);
  CHECK(second->inN() == partial[2]);
  CHECK(second->outN() == w.n);
  checkSound(fusion);
  scheduler_utils::transformPropagateToAllFrom(partial[0]);
  inlineMost();
  checkSound(fusion);
}

}  // namespace
}  // namespace nvfuser
