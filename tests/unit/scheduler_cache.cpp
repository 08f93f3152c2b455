#include <doctest/doctest.h>

#include <ir/fusion.h>
#include <ops/all_ops.h>
#include <schedule_checks.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

TEST_CASE("cacheAfter: uses read the copy") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigConcreteTensor({4, 1, 6});
  fusion.addInput(in);
  TensorView* a = neg(in);
  TensorView* b = exp(in);
  fusion.addOutput(a);
  fusion.addOutput(b);
  SUBCASE("all of them") {
    TensorView* copy = in->cacheAfter(LoadStoreOpType::Set, CacheOp::Streaming);
    CHECK(shapeText(copy) == "[4, b, 6]");
    CHECK(copy->definition()->as<LoadStoreOp>()->cacheOp() == CacheOp::Streaming);
    CHECK(copy->definition()->input(0) == in);
    CHECK(a->definition()->input(0) == copy);
    CHECK(b->definition()->input(0) == copy);
    CHECK(copy->getMemoryType() == MemoryType::Local);
  }
  SUBCASE("some of them") {
    TensorView* copy =
        in->cacheAfter(LoadStoreOpType::CpAsync, CacheOp::Unspecified, true, {b->definition()});
    CHECK(a->definition()->input(0) == in);
    CHECK(b->definition()->input(0) == copy);
  }
  checkSound(fusion);
}

TEST_CASE("cacheAfter of a reduction has no reduction axes, and the loops of the others") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigConcreteTensor({8, 6});
  fusion.addInput(in);
  TensorView* s = sum(in, {1});
  TensorView* out = exp(s);
  fusion.addOutput(out);
  s->split(0, 4);
  s->axis(0)->parallelize(ParallelType::BIDx);
  TensorView* copy = s->cacheAfter();
  CHECK(shapeText(copy) == "[8]");
  CHECK(loopText(copy) == "[2, 4]");
  CHECK(copy->axis(0)->getParallelType() == ParallelType::BIDx);
  checkSound(fusion);
}

TEST_CASE("cacheBefore: the copy is computed, the output is written") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigConcreteTensor({8, 6});
  fusion.addInput(in);
  TensorView* out = sum(in, {1});
  fusion.addOutput(out);
  out->split(0, 4)->split(2, 2);
  TensorView* copy = out->cacheBefore();
  CHECK(copy->definition()->isA<ReductionOp>());
  CHECK(loopText(copy) == "[2, 4, r3, r2]");
  CHECK(out->definition()->input(0) == copy);
  CHECK(loopText(out) == "[2, 4]");
  CHECK(out->getMemoryType() == MemoryType::Global);
  CHECK(copy->getMemoryType() == MemoryType::Local);
  CHECK(fusion.outputs()[0] == out);
  checkSound(fusion);
  inlineMost();
  checkSound(fusion);
  CHECK(copy->getComputeAtPosition() == 2);
}

TEST_CASE("memory order goes with the tensor in global memory") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = TensorViewBuilder()
                       .shape(std::vector<int64_t>{4, 6})
                       .strideOrder({0, 1})
                       .contiguity(true)
                       .build();
  fusion.addInput(in);
  TensorView* out = neg(in);
  fusion.addOutput(out);
  out->setAllocationDomain({out->axis(1), out->axis(0)}, true);
  TensorView* loaded = in->cacheAfter();
  REQUIRE(loaded->hasAllocation());
  CHECK(loaded->getAllocationDomain()[0] == loaded->getLogicalDomain()[1]);
  TensorView* before = out->cacheBefore();
  CHECK_FALSE(before->hasAllocation());
  REQUIRE(out->hasAllocation());
  CHECK(out->getAllocationDomain()[0] == out->getLogicalDomain()[1]);
  CHECK(out->getContiguity() == Contiguity{true, true});
  checkSound(fusion);
}

TEST_CASE("cacheFork: the output is a tensor of its own") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigConcreteTensor({8, 6});
  fusion.addInput(in);
  TensorView* a = neg(in);
  TensorView* b = exp(a);
  fusion.addOutput(a);
  fusion.addOutput(b);
  TensorView* output = a->cacheFork();
  CHECK(fusion.outputs()[0] == output);
  CHECK(output->definition()->input(0) == a);
  CHECK(b->definition()->input(0) == a);
  CHECK_FALSE(a->isFusionOutput());
  CHECK(a->getMemoryType() == MemoryType::Local);
  CHECK(output->getMemoryType() == MemoryType::Global);
  checkSound(fusion);
}

TEST_CASE("cacheInputs, cacheAndForkOutputs, clearMemorySpace, queries") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigConcreteTensor({8, 6});
  TensorView* unused = makeContigConcreteTensor({8, 6});
  fusion.addInput(in);
  fusion.addInput(unused);
  TensorView* a = neg(in);
  TensorView* r = reshape(a, {8, 6}, {48});
  TensorView* s = sum(r, {0});
  WelfordResult w = Welford(a, {1});
  fusion.addOutput(a);
  fusion.addOutput(s);
  fusion.addOutput(w.avg);
  CHECK(scheduler_utils::getReductionTvs(&fusion) == std::vector<TensorView*>{s, w.avg});
  CHECK(scheduler_utils::getViewTVs(&fusion) == std::vector<TensorView*>{r});
  CHECK(scheduler_utils::cacheInputs(&fusion, false).empty());
  auto loads = scheduler_utils::cacheInputs(&fusion, true);
  REQUIRE(loads.size() == 1);
  CHECK(loads[0]->definition()->input(0) == in);
  auto stores = scheduler_utils::cacheAndForkOutputs(&fusion, true);
  REQUIRE(stores.size() == 3);
  for (auto [copy, output] : stores) {
    CHECK(output->isFusionOutput());
    CHECK(output->definition()->input(0) == copy);
  }
  CHECK_FALSE(a->isFusionOutput());
  a->setMemoryType(MemoryType::Shared);
  scheduler_utils::clearMemorySpace(&fusion);
  CHECK(a->getMemoryType() == MemoryType::Local);
  CHECK(in->getMemoryType() == MemoryType::Global);
  checkSound(fusion);
}

}  // namespace
}  // namespace nvfuser
