#include <doctest/doctest.h>

#include <ir/fusion.h>
#include <ops/all_ops.h>
#include <schedule_checks.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

struct BadSchedule {
  std::string words;  ///< what the message must contain
  std::function<void()> use;
};

/// Each message has its words, and unless said otherwise the tensor's loop domain and a way out.
void checkAll(const std::vector<BadSchedule>& schedules) {
  for (const BadSchedule& bad : schedules) {
    const std::string message = messageOf(bad.use);
    CAPTURE(message);
    CHECK_MESSAGE(message.find(bad.words) != std::string::npos, bad.words);
    CHECK(message.find("\n  note: loop domain of T") != std::string::npos);
    CHECK(message.find("\n  help: ") != std::string::npos);
  }
}

Val* num(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

/// T0[6, 16] → T1 = set → T2 = sum over axis 1; T3 = broadcast; T4 = T1 − T3 (output).
struct Normalized {
  Fusion fusion;
  FusionGuard guard{&fusion};
  TensorView* in = makeContigConcreteTensor({6, 16});
  TensorView* row;
  TensorView* total;
  TensorView* wide;
  TensorView* out;
  Normalized() {
    fusion.addInput(in);
    row = set(in);
    total = sum(row, {1});
    wide = broadcast(total, {false, true});
    out = sub(row, wide);
    fusion.addOutput(out);
  }
};

TEST_CASE("bad splits and merges") {
  Normalized f;
  Fusion other;
  TensorView* scalar = sum(f.in, {0, 1});
  scalar->setLoopDomain({});
  TensorView* parts = viewAsScalar(makeContigTensor(1, DataType::ComplexFloat));
  checkAll({
      {"split: axis 2 is outside the loop domain of T4, which has 2 axes",
       [&] { f.out->split(2, 4); }},
      {"use an axis from -2 to 1", [&] { f.out->split(-3, 4); }},
      {"split: factor must be positive, got 0 for axis 1 (iS",
       [&] { f.out->split(1, int64_t{0}); }},
      {"extent 16) of T4", [&] { f.out->split(1, -4); }},
      {"split: factor for axis 0 (iS", [&] { f.out->split(0, static_cast<Val*>(nullptr)); }},
      {"must be an integer scalar, got 2", [&] { f.out->split(0, IrBuilder::create<Val>(2.0)); }},
      {"split: T5 has no axes, so there is no axis 0", [&] { scalar->split(0, 2); }},
      {"merge: axis 5 is outside the loop domain of T4", [&] { f.out->merge(0, 5); }},
      {"merge: axis 2 is outside the loop domain of T4", [&] { f.out->merge(1); }},
      {"cannot be merged with itself", [&] { f.out->merge(1, -1); }},
      {"is no reduction but axis 1 (rS", [&] { f.total->merge(0); }},
      {"flatten: the range from axis 1 to axis 0 is empty", [&] { f.out->flatten(1, 0); }},
      {"flatten: axis 4 is outside the loop domain of T4", [&] { f.out->flatten(0, 4); }},
      {"is a reduction but axis 0 (iS", [&] { f.total->merge(1, 0); }},
      {"is a part of complex numbers", [&] { parts->merge(0); }},
  });
}

TEST_CASE("bad orders, swizzles, resizes, new axes") {
  Normalized f;
  Val* symbolic = IrBuilder::create<Val>(DataType::Index);
  checkAll({
      {"reorder: axis 2 is outside the loop domain of T4", [&] { f.out->reorder({{2, 0}}); }},
      {"reorder: axis 7 is outside the loop domain of T4", [&] { f.out->reorder({{0, 7}}); }},
      {"are both moved to position 0", [&] { f.out->reorder({{0, 0}, {1, 0}}); }},
      {"reorder: axis 1 (iS", [&] { f.out->reorder({{1, 0}, {-1, 1}}); }},
      {"reorder: an axis of T4 is moved twice", [&] { f.out->reorder({{1, 0}, {1, 1}}); }},
      {"reorder: the permutation has 1 entries for the 2 axes of T4",
       [&] { f.out->reorder(std::vector<int64_t>{0}); }},
      {"are both moved to position 1", [&] { f.out->reorder(std::vector<int64_t>{1, 1}); }},
      {"cannot be swizzled with itself", [&] { f.out->swizzle(SwizzleType::XOR, 0, 0); }},
      {"swizzle: axis 3 is outside the loop domain of T4",
       [&] { f.out->swizzle(SwizzleType::XOR, 0, 3); }},
      {"swizzle: XOR is no bijection of axis 1 (iS",
       [&] { f.out->swizzle(SwizzleType::XOR, 1, 0); }},
      {"swizzle: axis 1 (rS", [&] { f.total->swizzle(SwizzleType::CyclicShift, 0, 1); }},
      {"is a broadcast", [&] { f.wide->swizzle(SwizzleType::CyclicShift, 0, 1); }},
      {"swizzle: XOR needs constant extents",
       [&] {
         f.out->split(1, symbolic);
         f.out->swizzle(SwizzleType::XOR, 1, 2);
       }},
      {"resize: widths for axis 0 (iS", [&] { f.out->resize(0, nullptr, num(1)); }},
      {"-1 iterations would be left", [&] { f.out->resize(0, num(-4), num(-3)); }},
      {"resize: axis 1 (rS", [&] { f.total->resize(1, num(1), num(1)); }},
      {"broadcast: position 5 is outside the loop domain of T3", [&] { f.wide->broadcast(5); }},
      {"the extent of a new axis of T3 must be a positive integer scalar, got 0",
       [&] { f.wide->broadcast(0, int64_t{0}); }},
  });
}

TEST_CASE("transforms of what is bound or shared already") {
  Normalized f;
  f.row->axis(1)->parallelize(ParallelType::TIDx);
  f.total->inlineAt(1);
  checkAll({
      {"is bound to threadIdx.x already", [&] { f.row->split(1, 4); }},
      {"is bound to threadIdx.x already", [&] { f.row->merge(0); }},
      {"split: axis 0 (iS", [&] { f.total->split(0, 2); }},
      {"is a loop shared with other tensors: the first 1 axes are fixed by inlining",
       [&] { f.wide->split(0, 2); }},
      {"is a loop shared with other tensors", [&] { f.total->merge(0, 1); }},
      {"is a loop shared with other tensors", [&] { f.wide->reorder({{0, 1}}); }},
      {"is a loop shared with other tensors", [&] { f.wide->resize(0, num(1), num(1)); }},
      {"broadcast: position 0 lies inside the first 1 axes of T3", [&] { f.wide->broadcast(0); }},
      {"transform replay: axis 0 (iS",
       [&] {
         f.out->split(0, 2);
         scheduler_utils::transformPropagateToAllFrom(f.out);
       }},
  });
}

TEST_CASE("bad memory and circular buffers") {
  Normalized f;
  checkAll({
      {"setMemoryType: T0 is an input of the Fusion and stays in Global memory; ",
       [&] { f.in->setMemoryType(MemoryType::Shared); }},
      {"make a copy with cacheBefore() and place that",
       [&] { f.out->setMemoryType(MemoryType::Local); }},
      {"circularBuffer: T1 needs at least 2 stages, got 1", [&] { f.row->circularBuffer(1); }},
      {"prefetch distance 3 of T1 does not fit its 3 stages\n  note: ",
       [&] { f.row->circularBuffer(3, 3); }},
      {"prefetch distance -4 of T1 does not fit its 4 stages",
       [&] { f.row->circularBuffer(4, -4); }},
      {"T2 is computed by reduction_add; only a copy can run ahead of its use",
       [&] { f.total->circularBuffer(2); }},
      {"circularBuffer: T4 is an output of the Fusion", [&] { f.out->circularBuffer(2); }},
      {"circularBuffer: T0 is an input of the Fusion", [&] { f.in->circularBuffer(2); }},
  });
}

TEST_CASE("bad factorings") {
  Normalized f;
  f.total->split(1, 4);
  WelfordResult w = Welford(f.row, {1});
  TensorView* spread = neg(w.var_sum);
  f.fusion.addOutput(spread);
  checkAll({
      {"rFactor: T4 is computed by sub, which is no reduction", [&] { f.out->rFactor({0}); }},
      {"rFactor: T0 is computed by nothing", [&] { f.in->rFactor({0}); }},
      {"rFactor: axis 0 (iS", [&] { f.total->rFactor({0}); }},
      {"rFactor: axis 3 is outside the loop domain of T2", [&] { f.total->rFactor({3}); }},
      {"rFactor: no axis of T2 was chosen", [&] { f.total->rFactor({}); }},
      {"is chosen twice", [&] { f.total->rFactor({1, -2}); }},
      {"all reduction axes of T2 were chosen, so nothing is left for the second step",
       [&] { f.total->rFactor({1, 2}); }},
      {"is one of 3 outputs of welford, which are factored together", [&] { w.avg->rFactor({1}); }},
      {"give exactly the outputs of the reduction", [&] { w.avg->rFactor({1}, {w.avg, w.n}); }},
      {"rFactor: T2 shares its first 1 loops with other tensors already",
       [&] {
         f.total->inlineAt(1);
         f.total->rFactor({1});
       }},
  });
}

TEST_CASE("bad caches") {
  Normalized f;
  TensorView* dead = neg(f.row);
  checkAll({
      {"cacheAfter: T4 is an output of the Fusion", [&] { f.out->cacheAfter(); }},
      {"use cacheBefore() to compute it on the chip first", [&] { f.out->cacheAfter(); }},
      {"cacheAfter: nothing that leads to an output reads T5", [&] { dead->cacheAfter(); }},
      {"does not read T0",
       [&] {
         f.in->cacheAfter(LoadStoreOpType::Set, CacheOp::Unspecified, true, {f.out->definition()});
       }},
      {"cacheBefore: T0 is an input of the Fusion and is not computed",
       [&] { f.in->cacheBefore(); }},
      {"cacheBefore: T6 is computed by nothing", [&] { makeContigTensor(1)->cacheBefore(); }},
      {"cacheFork: T1 is no output of the Fusion", [&] { f.row->cacheFork(); }},
      {"cacheFork: T0 is an input of the Fusion", [&] { f.in->cacheFork(); }},
      {"cacheFork: output T4 is read by nothing", [&] { f.out->cacheFork(); }},
      {"cacheBefore: T3 shares its first 2 loops with other tensors already",
       [&] {
         f.wide->inlineAt(2);
         f.wide->cacheBefore();
       }},
      {"make caches before inlining", [&] { f.out->cacheBefore(); }},
  });
}

TEST_CASE("bad inlining") {
  Normalized f;
  Fusion elsewhere;
  TensorView* foreign = nullptr;
  {
    FusionGuard guard(&elsewhere);
    foreign = makeContigTensor(2);
  }
  TensorView* aside = neg(f.in);
  f.fusion.addOutput(aside);
  checkAll({
      {"computeAt: T2 does not depend on T4", [&] { f.out->computeAt(f.total, 1); }},
      {"computeAt: T5 does not depend on T1", [&] { f.row->computeAt(aside, 1); }},
      {"computeAt: T1 cannot be computed inside itself", [&] { f.row->computeAt(f.row, 1); }},
      {"computeAt: position 3 is outside the loop domain of T4",
       [&] { f.row->computeAt(f.out, 3); }},
      {"the consumer of T1 is null", [&] { f.row->computeAt(nullptr, 1); }},
      {"the consumer of T1 is of another Fusion", [&] { f.row->computeAt(foreign, 1); }},
      {"computeAt: T1 cannot be placed at position 2, inside the first 2 loops of T4, at most at "
       "1: "
       "inside the loop over axis 1",
       [&] { f.row->computeAt(f.out, 2); }},
      {"inlineAt: T2 cannot be placed inside its consumers at position 2, at most at 1: axis 1 (rS",
       [&] { f.total->inlineAt(2); }},
      {"is a reduction, complete only when its loop ends", [&] { f.total->inlineAt(-1); }},
      {"inlineAt: T0 is an input of the Fusion and is not computed", [&] { f.in->inlineAt(1); }},
      {"inlineAt: position 4 is outside the loop domain of T1", [&] { f.row->inlineAt(4); }},
      {"T4 has no consumer to be inlined into", [&] { f.out->inlineAt(1); }},
      {"inlineAllAt: T1 cannot be placed at position 2", [&] { inlineAllAt(f.out, -1); }},
      {"is listed as not to be inlined",
       [&] { inlineSelectedAt({f.wide}, f.out, 2, false, {f.wide->axis(1)}); }},
      {"inlineAllAt: position 9 is outside the loop domain of T4", [&] { inlineAllAt(f.out, 9); }},
      {"parallelizeAllLike: position 5 is outside the loop domain of T4",
       [&] { scheduler_utils::parallelizeAllLike(f.out, 5); }},
      {"propagate: position -7 is outside the loop domain of T4",
       [&] { scheduler_utils::transformPropagateToAllFrom(f.out, -7); }},
      {"run over different things",
       [&] {
         f.out->split(0, 2);
         f.wide->inlineAt(1);
       }},
      {"is bound to V, which handles several elements at once",
       [&] {
         f.out->axis(2)->parallelize(ParallelType::Vectorize);
         scheduler_utils::transformPropagateToAllFrom(f.out);
         f.wide->inlineAt(3);
       }},
  });
}

TEST_CASE("without a FusionGuard") {
  const std::string message = messageOf([] { inlineMost(); });
  CHECK(message.find("inlining: there is no active Fusion; make a FusionGuard") !=
        std::string::npos);
}

}  // namespace
}  // namespace nvfuser
