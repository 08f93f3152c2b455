// What refuses a schedule is asked of the model, by value: nothing is lowered, and nothing is
// thrown.
#include <doctest/doctest.h>

#include <iteration_space/refused_loops.h>
#include <ops/all_ops.h>
#include <scheduler/rfactor.h>
#include <scheduler/tools/inlining.h>
#include <scheduler/tools/maxinfo_propagator.h>
#include <scheduler/utils.h>

using namespace nvfuser;

namespace {

TensorView* input(Fusion& fusion, int64_t rank) {
  TensorView* tv = makeContigTensor(rank);
  fusion.addInput(tv);
  return tv;
}

std::string refusal(const Fusion& fusion) {
  const IdGraph exact(fusion, IdGraph::Mode::Exact);
  return refusedLoops(fusion, exact, LowerTarget::Cuda).value_or("none");
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("refused loops: none as defined, and none of loops that are shared") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* y = neg(x);
  TensorView* z = exp(y);
  fusion.addOutput(z);
  CHECK(refusal(fusion) == "none");
  y->merge(0);
  z->merge(0);
  y->inlineAt(1);
  CHECK(refusal(fusion) == "none");
}

TEST_CASE("refused loops: a loop is bound to one dimension") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* y = neg(input(fusion, 1));
  TensorView* z = exp(y);
  fusion.addOutput(z);
  y->inlineAt(1);
  y->axis(0)->parallelize(ParallelType::TIDx);
  z->axis(0)->parallelize(ParallelType::BIDx);
  CHECK(says(refusal(fusion), "shares its loop with an axis"));
}

TEST_CASE("refused loops: what one thread has in registers is not there for others") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* y = neg(input(fusion, 2));
  TensorView* z = exp(y);
  fusion.addOutput(z);
  y->axis(1)->parallelize(ParallelType::TIDx);
  z->axis(0)->parallelize(ParallelType::TIDx);
  CHECK(says(refusal(fusion), "each thread of threadIdx.x sees its own part"));
  z->axis(0)->parallelize(ParallelType::Serial);
  z->axis(1)->parallelize(ParallelType::TIDx);
  CHECK(refusal(fusion) == "none");
}

TEST_CASE("refused loops: a thread has the element that it reads") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({6, 4});
  fusion.addInput(x);
  TensorView* y = neg(x);
  TensorView* turned = transpose(y, 0, 1);
  TensorView* a = reshape(y, {6, 4}, {24});
  TensorView* b = reshape(turned, {4, 6}, {24});
  TensorView* z = add(a, b);
  fusion.addOutput(z);
  y->merge(0);
  turned->merge(0);
  CHECK(refusal(fusion) == "none");
  // The merged axes are one class, that of z's axis, but of other elements.
  for (TensorView* tv : {y, turned, a, b, z}) {
    tv->axis(0)->parallelize(ParallelType::TIDx);
  }
  CHECK(says(refusal(fusion), "compute it at other elements than are read"));
}

TEST_CASE("refused loops: a sum takes each element once in the loops that it shares") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigConcreteTensor({8, 5});
  TensorView* w = makeContigConcreteTensor({8, 5, 5});
  fusion.addInput(x);
  fusion.addInput(w);
  TensorView* sums = cumsum(set(x), 0);
  TensorView* out = add(broadcast(sums, {false, false, true}), w);
  fusion.addOutput(out);
  out->merge(1);
  out->split(1, 16);
  out->reorder({{0, 1}, {1, 0}});
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  CHECK(refusal(fusion) == "none");
  inlineMost();
  CHECK(says(refusal(fusion), "combines elements once"));
}

TEST_CASE("refused rFactor: asked before it is done") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* total = sum(input(fusion, 2), {1});
  fusion.addOutput(total);
  REQUIRE(refusesRFactor(total, {1}));
  CHECK(says(refusesRFactor(total, {1})->what, "nothing is left"));
  CHECK(says(refusesRFactor(total, {0})->what, "is no reduction"));
  CHECK(says(refusesRFactor(total, {})->what, "no axis"));
  total->split(1, 4);
  CHECK(!refusesRFactor(total, {1}));
  total->rFactor({1});
}
