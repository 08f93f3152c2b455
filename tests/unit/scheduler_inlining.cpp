#include <doctest/doctest.h>

#include <ir/builder.h>
#include <ir/fusion.h>
#include <ops/all_ops.h>
#include <schedule_checks.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

Val* number(double value) { return IrBuilder::create<Val>(value); }

TEST_CASE("the user's example: merge, split, split, computeAt, inlineMost, parallelizeAllLike") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* tv0 = makeContigTensor(2);
  TensorView* tv1 = makeContigTensor(2);
  fusion.addInput(tv0);
  fusion.addInput(tv1);
  TensorView* tv2 = add(tv1, number(2.0));
  TensorView* tv3 = add(tv0, tv2);
  fusion.addOutput(tv3);
  tv3->merge(0);
  tv3->split(0, 128);
  tv3->split(0, 4);
  TensorView* inputs[] = {tv0, tv1};
  for (TensorView* input : inputs) {
    input->computeAt(tv3, -1, ComputeAtMode::MostInlined);
  }
  checkSound(fusion);
  CHECK(tv2->getComputeAtPosition() == 3);
  CHECK(tv2->nDims() == 3);
  inlineMost();
  tv3->axis(0)->parallelize(ParallelType::BIDx);
  tv3->axis(1)->parallelize(ParallelType::Unroll);
  tv3->axis(2)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(tv3);
  checkSound(fusion);
  CHECK(tv2->getComputeAtPosition() == 3);
  CHECK(tv3->getMaxProducerPosition() == 3);
  CHECK(tv0->getComputeAtPosition() == 0);
  CHECK(tv2->axis(0)->getParallelType() == ParallelType::BIDx);
  CHECK(tv2->axis(1)->getParallelType() == ParallelType::Unroll);
  CHECK(tv2->axis(2)->getParallelType() == ParallelType::TIDx);
}

TEST_CASE("inlineMost stops where axes are bound to different things") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(3);
  fusion.addInput(x);
  TensorView* tile = set(x);
  TensorView* by_y = neg(tile);
  TensorView* by_z = exp(tile);
  fusion.addOutput(by_y);
  fusion.addOutput(by_z);
  for (TensorView* tv : {tile, by_y, by_z}) {
    tv->axis(0)->parallelize(ParallelType::BIDx);
  }
  by_y->axis(1)->parallelize(ParallelType::TIDy);
  by_z->axis(1)->parallelize(ParallelType::TIDz);
  inlineMost();
  CHECK(tile->getComputeAtPosition() == 1);  // its own axis 1 is bound to nothing
  resetInlining(&fusion);
  by_z->axis(1)->parallelize(ParallelType::TIDy);
  inlineMost();
  CHECK(tile->getComputeAtPosition() == 3);
  resetInlining(&fusion);
  tile->axis(1)->parallelize(ParallelType::TIDx);
  inlineMost();
  CHECK(tile->getComputeAtPosition() == 1);
  CHECK_THROWS_WITH_AS(tile->inlineAt(2),
                       doctest::Contains("would be bound to threadIdx.y and to threadIdx.x"),
                       UserError);
}

TEST_CASE("bias: tensors before the broadcast get congruent loops and are inlined") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({6, 8});
  TensorView* bias = makeContigConcreteTensor({8});
  fusion.addInput(x);
  fusion.addInput(bias);
  TensorView* scaled = mul(bias, number(3.0));
  TensorView* wide = broadcast(scaled, {true, false});
  TensorView* out = add(x, wide);
  fusion.addOutput(out);
  out->merge(0)->split(0, 4);
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  CHECK(loopText(out) == "[12, 4]");
  CHECK(loopText(wide) == "[2, 4]");
  CHECK(loopText(scaled) == "[2, 4]");
  CHECK(scaled->domain()->additionalIDs().size() == 1);
  checkSound(fusion);
  inlineMost();
  checkSound(fusion);
  CHECK(wide->getComputeAtPosition() == 2);
  CHECK(scaled->getComputeAtPosition() == 2);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(out);
  CHECK(scaled->axis(0)->getParallelType() == ParallelType::BIDx);
  CHECK(scaled->axis(1)->getParallelType() == ParallelType::TIDx);

  SUBCASE("a second propagation changes nothing") {
    const auto before = scaled->getLoopDomain();
    const int64_t vals = fusion.numVals();
    TransformPropagator again(out);
    MaxLogicalDomainInfoSpanningTree(out).traverse(&again);
    CHECK(scaled->getLoopDomain() == before);
    CHECK(fusion.numVals() == vals);
  }
}

TEST_CASE("an axis that the producer lacks entirely stands at the same position") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({6, 8});
  TensorView* row = makeContigConcreteTensor({8});
  fusion.addInput(x);
  fusion.addInput(row);
  TensorView* scaled = neg(row);
  TensorView* out = add(x, broadcast(scaled, {true, false}));
  fusion.addOutput(out);
  out->split(1, 4);
  out->split(0, 3);
  scheduler_utils::transformPropagateToAllFrom(out);
  CHECK(loopText(out) == "[2, 3, 2, 4]");
  CHECK(loopText(scaled) == "[b, b, 2, 4]");
  inlineMost();
  checkSound(fusion);
  CHECK(scaled->getComputeAtPosition() == 4);
}

TEST_CASE("softmax: the row is not inlined into the loops that reduce it") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({6, 100});
  fusion.addInput(x);
  TensorView* cached = set(x);
  TensorView* top = max(cached, {1});
  TensorView* shifted = sub(cached, broadcast(top, {false, true}));
  TensorView* e = exp(shifted);
  TensorView* total = sum(e, {1});
  TensorView* wide_total = broadcast(total, {false, true});
  TensorView* out = div(e, wide_total);
  fusion.addOutput(out);
  out->split(1, 32);
  scheduler_utils::transformPropagateToAllFrom(out);
  CHECK(loopText(top) == "[6, r4, r32]");
  inlineMost();
  checkSound(fusion);
  CHECK(cached->getComputeAtPosition() == 1);
  CHECK(e->getComputeAtPosition() == 1);
  CHECK(shifted->getComputeAtPosition() == 3);
  CHECK(top->getComputeAtPosition() == 1);
  CHECK(wide_total->getComputeAtPosition() == 3);
}

TEST_CASE("paths that fork before a reduction and meet after it limit where they fork") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* source = set(x);
  TensorView* a = neg(source);
  TensorView* b = exp(source);
  TensorView* s = sum(a, {1});
  TensorView* d = sub(b, broadcast(s, {false, true}));
  fusion.addOutput(d);
  inlineMost();
  checkSound(fusion);
  CHECK(source->getComputeAtPosition() == 1);
  CHECK(a->getComputeAtPosition() == 2);
  CHECK(b->getComputeAtPosition() == 2);
}

TEST_CASE("a cycle through two producers without a common one is found") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigTensor(2);
  fusion.addInput(in);
  TensorView* y = neg(in);
  TensorView* z = exp(in);
  TensorView* e = add(y, z);
  TensorView* s = sum(y, {1});
  TensorView* d = sub(z, broadcast(s, {false, true}));
  fusion.addOutput(e);
  fusion.addOutput(d);
  inlineMost();
  checkSound(fusion);
  CHECK(std::min(y->getComputeAtPosition(), z->getComputeAtPosition()) == 1);
  CHECK(std::max(y->getComputeAtPosition(), z->getComputeAtPosition()) == 2);
}

TEST_CASE("a broadcast that meets two sizes is not inlined into both") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* row = makeContigConcreteTensor({1, 8});
  TensorView* x = makeContigConcreteTensor({4, 8});
  TensorView* y = makeContigConcreteTensor({5, 8});
  for (TensorView* tv : {row, x, y}) {
    fusion.addInput(tv);
  }
  TensorView* a = neg(row);
  TensorView* first = add(x, a);
  TensorView* second = add(y, a);
  fusion.addOutput(first);
  fusion.addOutput(second);
  SUBCASE("as outermost loop: not at all") {
    inlineMost();
    CHECK(a->getComputeAtPosition() == 0);
    const std::string message = messageOf([&] { a->inlineAt(1); });
    CAPTURE(message);
    CHECK(message.find("would have two sizes, those of ") != std::string::npos);
    CHECK(message.find("{4} of T") != std::string::npos);
    CHECK(message.find("{5} of T") != std::string::npos);
  }
  SUBCASE("further inside: up to there") {
    first->reorder({{0, 1}});
    scheduler_utils::transformPropagateToAllFrom(first);
    inlineMost();
    CHECK(a->getComputeAtPosition() == 1);
  }
  checkSound(fusion);
}

TEST_CASE("an axis listed as not to be inlined keeps the others out of it as well") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* b = exp(a);
  TensorView* c = add(a, b);
  fusion.addOutput(c);
  inlineMost(std::unordered_set<IterDomain*>{b->axis(1)});
  checkSound(fusion);
  CHECK(b->getComputeAtPosition() == 1);
  CHECK(a->getComputeAtPosition() == 1);
}

TEST_CASE("vectorized axes are not shared, on either side") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 8});
  fusion.addInput(x);
  TensorView* a = set(x);
  TensorView* b = neg(a);
  TensorView* c = set(b);
  fusion.addOutput(c);
  c->split(1, 4);
  scheduler_utils::transformPropagateToAllFrom(c);
  a->axis(2)->parallelize(ParallelType::Vectorize);
  c->axis(2)->parallelize(ParallelType::Vectorize);
  inlineMost();
  checkSound(fusion);
  CHECK(a->getComputeAtPosition() == 2);
  CHECK(b->getComputeAtPosition() == 2);
}

TEST_CASE("computeAt in its three modes") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* s = sum(a, {1});
  TensorView* out = sub(a, broadcast(s, {false, true}));
  fusion.addOutput(out);
  SUBCASE("standard, where it can be") {
    a->computeAt(out, 1);
    checkSound(fusion);
    CHECK(a->getComputeAtPosition() == 1);
    CHECK(s->getComputeAtPosition() == 1);
  }
  SUBCASE("standard, where it cannot") {
    const std::string message = messageOf([&] { a->computeAt(out, 2); });
    CAPTURE(message);
    CHECK(message.find(
              "computeAt: T1 cannot be placed at position 2, inside the first 2 loops of T4") !=
          std::string::npos);
  }
  SUBCASE("best effort") {
    a->computeAt(out, 2, ComputeAtMode::BestEffort);
    checkSound(fusion);
    CHECK(a->getComputeAtPosition() == 1);
  }
  SUBCASE("most inlined") {
    x->computeAt(out, 1, ComputeAtMode::MostInlined);
    checkSound(fusion);
    CHECK(a->getComputeAtPosition() == 1);
    CHECK(s->getComputeAtPosition() == 1);
  }
}

TEST_CASE("inlineAt, inlineAllAt, inlineSelectedAt, resetInlining") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(3);
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* b = exp(a);
  TensorView* c = sin(b);
  fusion.addOutput(c);
  a->inlineAt(2);
  CHECK(a->getComputeAtPosition() == 2);
  CHECK(b->getMaxProducerPosition() == 2);
  CHECK(b->hasComputeAt() == false);
  inlineAllAt(c, 1);
  checkSound(fusion);
  CHECK(a->getComputeAtPosition() == 1);
  CHECK(b->getComputeAtPosition() == 1);
  inlineSelectedAt({b}, c, -1);
  CHECK(a->getComputeAtPosition() == 1);
  CHECK(b->getComputeAtPosition() == 3);
  resetInlining(&fusion);
  for (TensorView* tv : fusion.allTvs()) {
    CHECK(tv->getComputeAtPosition() == 0);
    CHECK(tv->getMaxProducerPosition() == 0);
  }
}

TEST_CASE("all results of one expression stand at one position") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({6, 5});
  fusion.addInput(x);
  TensorView* a = set(x);
  WelfordResult w = Welford(a, {1});
  TensorView* out = sub(a, broadcast(w.avg, {false, true}));
  TensorView* spread = neg(w.var_sum);
  fusion.addOutput(out);
  fusion.addOutput(spread);
  out->split(0, 4);
  scheduler_utils::transformPropagateToAllFrom(out);
  CHECK(loopText(w.avg) == "[2, 4, r5]");
  CHECK(loopText(w.var_sum) == loopText(w.avg));
  CHECK(loopText(w.n) == loopText(w.avg));
  CHECK(loopText(spread) == "[2, 4]");
  inlineMost();
  checkSound(fusion);
  CHECK(w.avg->getComputeAtPosition() == 2);
}

TEST_CASE("what is read at another element than the loops give is not inlined") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(2);
  TensorView* y = makeContigTensor(2);
  fusion.addInput(x);
  fusion.addInput(y);
  TensorView* turned = transpose(x, 0, 1);
  TensorView* crossed = add(y, turned);
  TensorView* out = add(x, crossed);
  fusion.addOutput(out);
  out->merge(0);
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  inlineMost();
  CHECK(crossed->getComputeAtPosition() * turned->getComputeAtPosition() == 0);
}

}  // namespace
}  // namespace nvfuser
