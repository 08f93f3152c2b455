#include <doctest/doctest.h>

#include <ir/fusion.h>
#include <ops/all_ops.h>
#include <schedule_checks.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

Val* num(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

struct OneOp {
  Fusion fusion;
  FusionGuard guard{&fusion};
  TensorView* in;
  TensorView* out;
  explicit OneOp(const std::vector<int64_t>& shape) : in(makeContigConcreteTensor(shape)) {
    fusion.addInput(in);
    out = neg(in);
    fusion.addOutput(out);
  }
};

TEST_CASE("split: inner, outer, negative axes, symbolic factors") {
  OneOp f({10, 12});
  CHECK(f.out->split(1, 5) == f.out);
  CHECK(loopText(f.out) == "[10, 3, 5]");
  f.out->split(0, 4, false);
  CHECK(loopText(f.out) == "[4, 3, 3, 5]");
  f.out->inner_split(-1, 2);
  CHECK(loopText(f.out) == "[4, 3, 3, 3, 2]");
  f.out->outer_split(-2, 3);
  CHECK(loopText(f.out) == "[4, 3, 3, 3, 1, 2]");
  Val* factor = IrBuilder::create<Val>(DataType::Int);
  f.out->split(0, factor);
  CHECK(f.out->axis(1)->extent() == factor);
  CHECK(shapeText(f.out) == "[10, 12]");
  CHECK(f.out->getInitialLoopDomain() == f.out->getLogicalDomain());
  checkSound(f.fusion);
}

TEST_CASE("merge and flatten") {
  OneOp f({2, 3, 4, 5});
  f.out->merge(0, 2);
  CHECK(loopText(f.out) == "[8, 3, 5]");
  f.out->merge(1);
  CHECK(loopText(f.out) == "[8, 15]");
  f.out->flatten();
  CHECK(loopText(f.out) == "[120]");
  f.out->flatten(0, 0);
  CHECK(loopText(f.out) == "[120]");
  OneOp g({2, 3, 4, 5});
  g.out->merge(2, 0);  // the inner axis may stand further out
  CHECK(loopText(g.out) == "[3, 8, 5]");
  g.out->flatten(1, 2);
  CHECK(loopText(g.out) == "[3, 40]");
  checkSound(g.fusion);
}

TEST_CASE("reorder by map, by list and by permutation") {
  OneOp f({2, 3, 4, 5});
  f.out->reorder({{0, -1}});
  CHECK(loopText(f.out) == "[3, 4, 5, 2]");
  f.out->reorder({{-1, 0}, {0, 1}});
  CHECK(loopText(f.out) == "[2, 3, 4, 5]");
  f.out->reorder(std::unordered_map<int64_t, int64_t>{{3, 1}, {1, 3}});
  CHECK(loopText(f.out) == "[2, 5, 4, 3]");
  f.out->reorder(std::vector<int64_t>{1, 2, 3, 0});  // axis i goes to position p[i]
  CHECK(loopText(f.out) == "[3, 2, 5, 4]");
  f.out->reorder({0, 1, 2, 3});
  CHECK(loopText(f.out) == "[3, 2, 5, 4]");
  f.out->reorder(std::unordered_map<int64_t, int64_t>{});
  CHECK(loopText(f.out) == "[3, 2, 5, 4]");
}

TEST_CASE("swizzle, resize, broadcast of the loop domain") {
  OneOp f({8, 8, 5});
  f.out->swizzle(SwizzleType::XOR, 0, 1);
  CHECK(loopText(f.out) == "[8, 8, 5]");
  CHECK(f.out->axis(0)->definition()->isA<Swizzle>());
  f.out->swizzle(SwizzleType::CyclicShift, 2, 0);
  f.out->swizzle(SwizzleType::NoSwizzle, 0, 1);
  f.out->resize(2, num(1), num(-2));
  CHECK(loopText(f.out) == "[8, 8, 4]");
  f.out->broadcast(1);
  CHECK(loopText(f.out) == "[8, b, 8, 4]");
  f.out->broadcast(-1, 3);
  CHECK(f.out->nDims() == 5);
  checkSound(f.fusion);
}

TEST_CASE("memory, circular buffers, reductions over threads and blocks") {
  OneOp f({8, 8});
  TensorView* copy = f.in->cacheAfter();
  copy->setMemoryType(MemoryType::Shared);
  CHECK(copy->getMemoryType() == MemoryType::Shared);
  copy->circularBuffer(4);
  CHECK(copy->isCircularBuffered());
  CHECK(copy->circularBufferOptions().prefetch == 3);
  copy->circularBuffer(4, -2);
  CHECK(copy->circularBufferOptions().prefetch == 2);
  copy->circularBuffer(2, 1);
  CHECK(copy->circularBufferOptions().stage == 2);
  TensorView* s = sum(copy, {0, 1});
  f.fusion.addOutput(s);
  CHECK_FALSE(s->hasBlockReduction());
  s->axis(1)->parallelize(ParallelType::TIDx);
  CHECK(s->hasBlockReduction());
  CHECK_FALSE(s->hasGridReduction());
  s->axis(0)->parallelize(ParallelType::BIDy);
  CHECK(s->hasGridReduction());
}

TEST_CASE("splitDims, mergeDims, canonicalizeReduction") {
  OneOp f({4, 6, 8, 10});
  std::vector<int64_t> follow{0, 1, 3};
  scheduler_utils::splitDims(f.out, {{0, 2}, {2, 4}}, follow);
  CHECK(loopText(f.out) == "[2, 2, 6, 2, 4, 10]");
  CHECK(follow == std::vector<int64_t>{0, 2, 5});
  follow = {1, 3, 5};
  CHECK(scheduler_utils::mergeDims(f.out, {4, 0, 1}, follow) == 0);
  CHECK(loopText(f.out) == "[16, 6, 2, 10]");
  CHECK(follow == std::vector<int64_t>{0, 2, 3});
  CHECK(scheduler_utils::mergeDims(f.out, {}) == std::nullopt);

  TensorView* s = sum(f.out, {1, 3});
  f.fusion.addOutput(s);
  CHECK(scheduler_utils::canonicalizeReduction(&f.fusion, s, false) == std::pair(true, true));
  CHECK(loopText(s) == "[32, r60]");
  TensorView* t = sum(f.out, {0, 2, 3});
  f.fusion.addOutput(t);
  scheduler_utils::canonicalizeReduction(&f.fusion, t, true);
  CHECK(loopText(t) == "[6, r4, r80]");
  checkSound(f.fusion);
}

TEST_CASE("parallelizeAllLike: selections of tensors, types and positions") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* in = makeContigConcreteTensor({4, 8, 16});
  fusion.addInput(in);
  TensorView* a = neg(in);
  TensorView* b = exp(a);
  fusion.addOutput(b);
  b->axis(0)->parallelize(ParallelType::BIDx);
  b->axis(1)->parallelize(ParallelType::TIDy);
  b->axis(2)->parallelize(ParallelType::TIDx);
  b->axis(2)->padToMultipleOfWarp();
  using scheduler_utils::parallelizeAllLike;
  SUBCASE("everything") {
    parallelizeAllLike(b);
    CHECK(a->axis(0)->getParallelType() == ParallelType::BIDx);
    CHECK(a->axis(2)->getParallelType() == ParallelType::TIDx);
    CHECK(a->axis(2)->hasPaddingToMultipleOfWarp());
    CHECK_FALSE(in->axis(0)->isParallelized());
  }
  SUBCASE("up to a position") {
    parallelizeAllLike(b, 1);
    CHECK(a->axis(0)->getParallelType() == ParallelType::BIDx);
    CHECK_FALSE(a->axis(1)->isParallelized());
  }
  SUBCASE("some types") {
    parallelizeAllLike(b, -1, {}, {ParallelType::TIDy}, false);
    CHECK_FALSE(a->axis(0)->isParallelized());
    CHECK(a->axis(1)->getParallelType() == ParallelType::TIDy);
    CHECK_FALSE(a->axis(2)->hasPaddingToMultipleOfWarp());
  }
  SUBCASE("some tensors") {
    parallelizeAllLike(b, {b});
    CHECK_FALSE(a->axis(0)->isParallelized());
    parallelizeAllLike(b, std::vector<TensorView*>{a}, {ParallelType::BIDx});
    CHECK(a->axis(0)->isParallelized());
    CHECK_FALSE(a->axis(1)->isParallelized());
  }
}

}  // namespace
}  // namespace nvfuser
