// Wrong schedules that a primitive refuses.
#include <malformed_schedules.h>

namespace nvfuser::malformed {

using enum ParallelType;

std::vector<Case> refusedByPrimitives() {
  return {
      {"split by zero", "split: factor must be positive, got 0 for axis 1",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->split(1, int64_t{0});
       }},
      {"split of an axis that is none", "split: axis 2 is outside the loop domain of T3",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->split(2, 4);
       }},
      {"split by a real number", "factor for axis 0",
       [](Program& p) {
         Chain c(p);
         Val* half = real(0.5);
         p.ready();
         c.out->split(0, half);
       }},
      {"split of a bound axis", "is bound to threadIdx.x already",
       [](Program& p) {
         Chain c(p);
         c.out->axis(1)->parallelize(TIDx);
         p.ready();
         c.out->split(1, 4);
       }},
      {"split of a shared loop", "is a loop shared with other tensors",
       [](Program& p) {
         Chain c(p);
         inlineMost();
         p.ready();
         c.body->split(0, 4);
       }},
      {"merge of an axis with itself", "cannot be merged with itself",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->merge(1, 1);
       }},
      {"merge of an axis and a reduction", "merge iterated axes with iterated axes",
       [](Program& p) {
         Centred c(p);
         p.ready();
         c.total->merge(0, 1);
       }},
      {"merge behind the last axis", "merge: axis 2 is outside the loop domain of T3",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->merge(1);
       }},
      {"reorder to one place twice", "are both moved to position 0",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->reorder({{0, 0}, {1, 0}});
       }},
      {"reorder by half a permutation", "the permutation has 1 entries for the 2 axes of T3",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->reorder(std::vector<int64_t>{1});
       }},
      {"swizzle by XOR of a size that is no power of two", "XOR is no bijection of axis 0",
       [](Program& p) {
         Chain c(p, {6, 6});
         p.ready();
         c.out->swizzle(SwizzleType::XOR, 0, 1);
       }},
      {"swizzle of a reduction", "is a reduction",
       [](Program& p) {
         Centred c(p);
         p.ready();
         c.total->swizzle(SwizzleType::CyclicShift, 0, 1);
       }},
      {"resize to nothing", "-2 iterations would be left",
       [](Program& p) {
         Chain c(p);
         Val* left = num(-6);
         Val* right = num(-4);
         p.ready();
         c.out->resize(0, left, right);
       }},
      {"rFactor of what is no reduction", "rFactor: T3 is computed by set, which is no reduction",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->rFactor({0});
       }},
      {"rFactor of an iterated axis", "rFactor: axis 0",
       [](Program& p) {
         Centred c(p);
         c.total->split(1, 8);
         p.ready();
         c.total->rFactor({0});
       }},
      {"rFactor of a reduction with a broadcast merged in", "merged in, which T3 does not reduce",
       [](Program& p) {
         TensorView* wide = broadcast(set(p.input({8, 64})), {false, false, true});
         TensorView* total = p.output(sum(wide, {1}));
         total->merge(1);
         total->split(1, 4);
         total->rFactor({1});
       }},
      {"rFactor of all reduction axes", "nothing is left for the second step",
       [](Program& p) {
         Centred c(p);
         c.total->split(1, 8);
         p.ready();
         c.total->rFactor({1, 2});
       }},
      {"rFactor after inlining", "shares its first 1 loops with other tensors already",
       [](Program& p) {
         Centred c(p);
         c.total->split(1, 8);
         c.total->inlineAt(1);
         p.ready();
         c.total->rFactor({2});
       }},
      {"rFactor of one output of Welford", "which are factored together",
       [](Program& p) {
         WelfordResult w = Welford(p.input({8, 64}), {1});
         p.output(w.avg);
         w.avg->split(1, 8);
         p.ready();
         w.avg->rFactor({1});
       }},
      {"cacheBefore of an input", "cacheBefore: T0 is an input of the Fusion",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.in->cacheBefore();
       }},
      {"cacheAfter of an output", "use cacheBefore() to compute it on the chip first",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->cacheAfter();
       }},
      {"cacheFork of what is no output", "cacheFork: T2 is no output of the Fusion",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.body->cacheFork();
       }},
      {"computeAt upwards", "computeAt: T1 does not depend on T3",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->computeAt(c.load, 1);
       }},
      {"computeAt behind the last axis", "computeAt: position 3 is outside the loop domain of T3",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.load->computeAt(c.out, 3);
       }},
      {"computeAt into itself", "computeAt: T1 cannot be computed inside itself",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.load->computeAt(c.load, 1);
       }},
      {"computeAt over the loop that a reduction closes", "cannot be placed at position 2",
       [](Program& p) {
         Centred c(p);
         p.ready();
         c.row->computeAt(c.out, 2);
       }},
      {"inlineAt inside a reduction", "is a reduction, complete only when its loop ends",
       [](Program& p) {
         Centred c(p);
         p.ready();
         c.total->inlineAt(2);
       }},
      {"inlineAt of an output", "T3 has no consumer to be inlined into",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->inlineAt(1);
       }},
      {"inlineAt of an input", "inlineAt: T0 is an input of the Fusion and is not computed",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.in->inlineAt(1);
       }},
      {"inlineAt into a loop of another size", "run over different things",
       [](Program& p) {
         Chain c(p);
         c.out->split(1, 16);
         p.ready();
         c.body->inlineAt(2);
       }},
      {"setMemoryType of an input", "T0 is an input of the Fusion and stays in Global memory",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.in->setMemoryType(MemoryType::Shared);
       }},
      {"setMemoryType of an output", "make a copy with cacheBefore() and place that",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->setMemoryType(MemoryType::Local);
       }},
      {"circular buffer of one stage", "circularBuffer: T1 needs at least 2 stages, got 1",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.load->circularBuffer(1);
       }},
      {"circular buffer that prefetches too far", "use a distance from 1 to 2",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.load->circularBuffer(3, 3);
       }},
      {"circular buffer of an input", "circularBuffer: T0 is an input of the Fusion",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.in->circularBuffer(2);
       }},
      {"circular buffer of a computed tensor", "only a copy can run ahead of its use",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.body->circularBuffer(2);
       }},
      {"bind to a loop over streams", "parallelize: axis",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->axis(0)->parallelize(Stream);
       }},
      {"vectorize a symbolic axis", "cannot be vectorized: its extent is not a constant",
       [](Program& p) {
         TensorView* out = p.output(set(p.symbolicInput(1)));
         p.ready();
         out->axis(0)->parallelize(Vectorize);
       }},
      {"pad a warp to a size that is none", "the size must be a positive multiple of 32",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->axis(1)->padToMultipleOfWarp(48);
       }},
      {"an axis behind the last", "out of boundary index 2",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->axis(2)->parallelize(TIDx);
       }},
      {"loop domain of another tensor", "does not come from its logical domain",
       [](Program& p) {
         Chain c(p);
         c.out->setLoopDomain(c.body->getLoopDomain());
         p.lower();
       }},
      {"loop domain with an axis twice", "stands twice",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->setLoopDomain({c.out->axis(0), c.out->axis(0)});
         p.lower();
       }},
      {"loop domain without an axis", "the loop domain of T3 leaves out its axis",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->setLoopDomain({c.out->axis(0)});
         p.lower();
       }},
      {"allocation domain of another tensor", "the allocation domain of T3 leaves out its axis",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->setAllocationDomain(c.body->getLoopDomain(), true);
         p.lower();
       }},
      {"allocation domain without an axis", "the allocation domain of T3 leaves out its axis",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->setAllocationDomain({c.out->axis(1)}, true);
         p.lower();
       }},
      {"propagate from behind the last axis", "propagate: position 5 is outside the loop domain",
       [](Program& p) {
         Chain c(p);
         p.ready();
         scheduler_utils::transformPropagateToAllFrom(c.out, 5);
       }},
      {"parallelizeAllLike behind the last axis", "parallelizeAllLike: position 9 is outside",
       [](Program& p) {
         Chain c(p);
         p.ready();
         scheduler_utils::parallelizeAllLike(c.out, 9);
       }},
  };
}

TEST_CASE("malformed schedules are refused by primitives") {
  for (const Case& wrong : refusedByPrimitives()) {
    checkCase(wrong);
  }
}

}  // namespace nvfuser::malformed
