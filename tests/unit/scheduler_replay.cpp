#include <doctest/doctest.h>

#include <ir/fusion.h>
#include <ops/all_ops.h>
#include <schedule_checks.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

using scheduler_utils::transformPropagateToAllFrom;

TEST_CASE("a reduction's loops from its consumer, and a consumer's from a reduction") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({12, 6});
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* s = sum(a, {1});
  TensorView* out = exp(s);
  fusion.addOutput(out);
  SUBCASE("from the end") {
    out->split(0, 4);
    transformPropagateToAllFrom(out);
    CHECK(loopText(s) == "[3, 4, r6]");
    CHECK(loopText(a) == "[3, 4, 6]");
  }
  SUBCASE("from the reduction") {
    s->split(1, 2);
    s->split(0, 4);
    s->reorder({{2, 0}});
    transformPropagateToAllFrom(s);
    CHECK(loopText(s) == "[r3, 3, 4, r2]");
    CHECK(loopText(a) == "[3, 3, 4, 2]");
    CHECK(loopText(out) == "[3, 4]");
  }
  SUBCASE("an own schedule of an axis that is not replayed stays") {
    s->split(1, 2);
    out->split(0, 3);
    transformPropagateToAllFrom(out);
    CHECK(loopText(s) == "[4, 3, r3, r2]");
    transformPropagateToAllFrom(s);
    CHECK(loopText(a) == "[4, 3, 3, 2]");
  }
  checkSound(fusion);
  inlineMost();
  checkSound(fusion);
}

TEST_CASE("part of a schedule") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({12, 6});
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* out = exp(a);
  fusion.addOutput(out);
  out->split(1, 2)->split(0, 4);
  out->reorder({{2, 0}});
  transformPropagateToAllFrom(out, 1);
  CHECK(loopText(out) == "[3, 3, 4, 2]");
  CHECK(loopText(a) == "[3, 12, 2]");
  transformPropagateToAllFrom(out);
  CHECK(loopText(a) == "[3, 3, 4, 2]");
  checkSound(fusion);
}

TEST_CASE("reshape: a consumer's merge and split go on to its producer") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 6});
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* r = reshape(a, {4, 6}, {8, 3});
  TensorView* out = exp(r);
  fusion.addOutput(out);
  SUBCASE("backward") {
    out->merge(0)->split(0, 5);
    transformPropagateToAllFrom(out);
    CHECK(loopText(out) == "[5, 5]");
    CHECK(loopText(r) == "[5, 5]");
    CHECK(loopText(a) == "[5, 5]");
    inlineMost();
    checkSound(fusion);
    CHECK(a->getComputeAtPosition() == 2);
  }
  SUBCASE("forward, where the producer is scheduled like the reshape") {
    a->split(1, 3)->merge(0);  // what the reshape does, then a tile of it
    a->split(0, 2);
    transformPropagateToAllFrom(a);
    CHECK(loopText(a) == "[4, 2, 3]");
    CHECK(loopText(r) == "[4, 2, 3]");
    CHECK(loopText(out) == "[4, 2, 3]");
    inlineMost();
    checkSound(fusion);
    CHECK(a->getComputeAtPosition() == 3);
  }
  SUBCASE("forward, where it is not: what the reshape merges is taken apart again") {
    a->split(0, 2);
    transformPropagateToAllFrom(a);
    CHECK(loopText(r) == "[2, 2, 6]");
    CHECK(loopText(out) == "[2, 2, 6]");
    inlineMost();
    checkSound(fusion);
    CHECK(a->getComputeAtPosition() == 3);
  }
}

TEST_CASE("slice and pad: both sides are tiled alike, but do not share the cut loop") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({10, 6});
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* part = slice(a, {0, 2}, {10, 6});
  TensorView* out = exp(part);
  fusion.addOutput(out);
  SUBCASE("backward") {
    out->split(1, 2);
    transformPropagateToAllFrom(out);
    CHECK(loopText(part) == "[10, 2, 2]");
    CHECK(loopText(a) == "[10, 3, 2]");
  }
  SUBCASE("forward") {
    a->split(1, 2);
    transformPropagateToAllFrom(a);
    CHECK(loopText(part) == "[10, 2, 2]");
    CHECK(loopText(out) == "[10, 2, 2]");
  }
  inlineMost();
  checkSound(fusion);
  CHECK(a->getComputeAtPosition() == 1);
}

TEST_CASE("permute: loops follow the axes, not their order") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 6});
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* t = permute(a, {1, 0});
  fusion.addOutput(t);
  t->split(0, 3);
  transformPropagateToAllFrom(t);
  CHECK(loopText(t) == "[2, 3, 4]");
  CHECK(loopText(a) == "[2, 3, 4]");
  inlineMost();
  checkSound(fusion);
  CHECK(a->getComputeAtPosition() == 3);
}

TEST_CASE("squeeze: the consumer gets a stand-in for an axis that was dropped") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 1, 6});
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* out = squeeze(a, {1});
  fusion.addOutput(out);
  a->merge(1)->split(1, 4);
  transformPropagateToAllFrom(a);
  CHECK(loopText(a) == "[4, 2, 4]");
  CHECK(loopText(out) == "[4, 2, 4]");
  inlineMost();
  checkSound(fusion);
  CHECK(a->getComputeAtPosition() == 3);
}

TEST_CASE("an axis that is reduced cannot be filled: what needs it is not replayed") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 6});
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* s = sum(a, {1});
  fusion.addOutput(s);
  a->merge(0)->split(0, 8);
  transformPropagateToAllFrom(a);
  CHECK(loopText(s) == "[4, r6]");
  inlineMost();
  checkSound(fusion);
  CHECK(a->getComputeAtPosition() == 0);
}

TEST_CASE("stand-ins go on to producers further up") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 6});
  TensorView* row = makeContigConcreteTensor({6});
  fusion.addInput(x);
  fusion.addInput(row);
  TensorView* a = neg(row);
  TensorView* b = exp(a);
  TensorView* out = add(x, broadcast(b, {true, false}));
  fusion.addOutput(out);
  out->merge(0)->split(0, 8);
  transformPropagateToAllFrom(out);
  CHECK(loopText(b) == "[1, 8]");
  CHECK(loopText(a) == "[1, 8]");
  inlineMost();
  checkSound(fusion);
  CHECK(a->getComputeAtPosition() == 2);
  CHECK(b->getComputeAtPosition() == 2);
  SUBCASE("computeAt over inlined tensors that are scheduled alike is no error") {
    row->computeAt(out, -1, ComputeAtMode::MostInlined);
    x->computeAt(out, -1, ComputeAtMode::MostInlined);
    checkSound(fusion);
    CHECK(a->getComputeAtPosition() == 2);
  }
}

TEST_CASE("two broadcasts of one tensor to different sizes") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* row = makeContigConcreteTensor({6});
  TensorView* x = makeContigConcreteTensor({4, 6});
  TensorView* y = makeContigConcreteTensor({5, 6});
  for (TensorView* tv : {row, x, y}) {
    fusion.addInput(tv);
  }
  TensorView* a = neg(row);
  TensorView* first = add(x, broadcast(a, {true, false}));
  TensorView* second = add(y, broadcast(a, {true, false}));
  fusion.addOutput(first);
  fusion.addOutput(second);
  first->merge(0)->split(0, 8);
  second->merge(0)->split(0, 8);
  transformPropagateToAllFrom(first);
  inlineMost();
  checkSound(fusion);
  const IdGraph graph(fusion, IdGraph::Mode::Permissive);
  CHECK_FALSE(graph.mapped(first->getLogicalDomain()[0], second->getLogicalDomain()[0]));
}

TEST_CASE("concat: each part is scheduled like the whole") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 6});
  TensorView* y = makeContigConcreteTensor({4, 2});
  fusion.addInput(x);
  fusion.addInput(y);
  TensorView* out = cat({neg(x), exp(y)}, 1);
  fusion.addOutput(out);
  out->split(1, 4)->split(0, 2);
  transformPropagateToAllFrom(out);
  inlineMost();
  checkSound(fusion);
}

TEST_CASE("TransformReplay gives domains and leaves the tensors as they are") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 6});
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* out = exp(a);
  fusion.addOutput(out);
  out->split(1, 2);
  auto [domain, pos] = TransformReplay::replayPasC(a, out, -1);
  CHECK(pos == 3);
  CHECK(domain->nDims() == 3);
  CHECK(loopText(a) == "[4, 6]");
  CHECK(TransformReplay::getMatchedLeafPosWithoutReplayPasC(a, out, 1) == 1);
  CHECK(TransformReplay::getMatchedLeafPosWithoutReplayPasC(a, out, 2) == -1);
  ReplaceDomain::set(a, domain);
  CHECK(TransformReplay::getMatchedLeafPosWithoutReplayPasC(a, out, -1) == 3);
  CHECK(TransformReplay::getMatchedLeafPosWithoutReplayCasP(out, a, -1) == 3);
  a->split(0, 2);
  CHECK(TransformReplay::replayCasP(out, a, -1).second == 4);
  TensorDomain* copy = TransformReplay::fullSelfReplay(
      IrBuilder::create<TensorDomain>(IterDomain::clone(a->getLogicalDomain())), a->domain());
  CHECK(copy->nDims() == 4);
}

TEST_CASE("bounded propagation goes one way") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 6});
  fusion.addInput(x);
  TensorView* a = neg(x);
  TensorView* b = exp(a);
  TensorView* c = sin(b);
  fusion.addOutput(c);
  b->split(1, 2);
  b->axis(0)->parallelize(ParallelType::BIDx);
  using Bounded = scheduler_utils::BoundedDirectionalTransformPropagator;
  SUBCASE("backward") {
    Bounded::backward(b, -1, {a}, Bounded::Options().propagateToBoundary().propagateParallelType());
    CHECK(loopText(a) == "[4, 3, 2]");
    CHECK(loopText(c) == "[4, 6]");
    CHECK(a->axis(0)->getParallelType() == ParallelType::BIDx);
  }
  SUBCASE("forward, without the boundary") {
    Bounded::forward(b, -1, {c});
    CHECK(loopText(a) == "[4, 6]");
    CHECK(loopText(c) == "[4, 6]");
  }
  SUBCASE("both ways") {
    Bounded::bothWays(b, -1, {a}, {c}, Bounded::Options().propagateToBoundary());
    CHECK(loopText(a) == "[4, 3, 2]");
    CHECK(loopText(c) == "[4, 3, 2]");
    CHECK_FALSE(a->axis(0)->isParallelized());
  }
}

TEST_CASE("the spanning tree prefers the way that keeps more") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({4, 6});
  fusion.addInput(x);
  TensorView* a = set(x);
  TensorView* s = sum(a, {1});
  TensorView* wide = broadcast(s, {false, true});
  TensorView* out = sub(a, wide);
  fusion.addOutput(out);
  struct Recorder : MaxInfoSpanningTree::Propagator {
    std::string path;
    void note(const char* edge, TensorView* from, TensorView* to) {
      path += text(from->toInlineString(), edge, to->toInlineString(), " ");
    }
    void propagateC2P(TensorView* from, TensorView* to) override { note("<", from, to); }
    void propagateP2C(TensorView* from, TensorView* to) override { note(">", from, to); }
    void propagateSibling(TensorView* from, TensorView* to) override { note("=", from, to); }
  } recorder;
  MaxLogicalDomainInfoSpanningTree(out).traverse(&recorder);
  CHECK(recorder.path == "T4<T1 T4<T3 T1<T0 T1>T2 ");
  recorder.path.clear();
  SetSelector only({a, x});
  MaxLogicalDomainInfoSpanningTree(out, &only).traverse(&recorder);
  CHECK(recorder.path == "T4<T1 T1<T0 ");
}

}  // namespace
}  // namespace nvfuser
