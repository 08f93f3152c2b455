// Wrong schedules: what a primitive refuses, and what only lowering can see.
#include <malformed.h>

namespace nvfuser::malformed {

namespace {

/// T0[8, 64] → T1 = set → T2 = exp → T3 = set (output): room to schedule each on its own.
struct Chain {
  TensorView* in;
  TensorView* load;
  TensorView* body;
  TensorView* out;

  explicit Chain(Program& p, const std::vector<int64_t>& shape = {8, 64},
                 DataType dtype = DataType::Float)
      : in(p.input(shape, dtype)), load(set(in)), body(exp(load)), out(p.output(set(body))) {}

  void splitAll(int64_t axis, int64_t factor) {
    for (TensorView* tv : {load, body, out}) {
      tv->split(axis, factor);
    }
  }
  void bindAll(int64_t axis, ParallelType type) {
    for (TensorView* tv : {load, body, out}) {
      tv->axis(axis)->parallelize(type);
    }
  }
};

/// T0[8, 64] → T1 = set → T2 = sum over axis 1 → T3 = broadcast → T4 = T1 − T3 (output).
struct Centred {
  TensorView* in;
  TensorView* row;
  TensorView* total;
  TensorView* wide;
  TensorView* out;

  explicit Centred(Program& p)
      : in(p.input({8, 64})),
        row(set(in)),
        total(sum(row, {1})),
        wide(broadcast(total, {false, true})),
        out(p.output(sub(row, wide))) {}
};

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
      {"bind to a device dimension", "parallelize: axis",
       [](Program& p) {
         Chain c(p);
         p.ready();
         c.out->axis(0)->parallelize(DIDx);
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

std::vector<Case> refusedByLowering() {
  return {
      {"one thread dimension for two axes", "threadIdx.x twice",
       [](Program& p) {
         Chain c(p);
         c.bindAll(0, TIDx);
         c.bindAll(1, TIDx);
         inlineMost();
         p.lower();
       }},
      {"one block dimension for two axes", "blockIdx.y twice",
       [](Program& p) {
         Chain c(p);
         c.bindAll(0, BIDy);
         c.bindAll(1, BIDy);
         inlineMost();
         p.lower();
       }},
      {"a reduction and an axis on one thread dimension", "threadIdx.x twice",
       [](Program& p) {
         Centred c(p);
         c.total->axis(0)->parallelize(TIDx);
         c.total->axis(1)->parallelize(TIDx);
         p.lower();
       }},
      {"two vectorized axes", "are both bound to Vectorize; a vector has one axis",
       [](Program& p) {
         Chain c(p, {4, 4});
         c.out->axis(0)->parallelize(Vectorize);
         c.out->axis(1)->parallelize(Vectorize);
         p.lower();
       }},
      {"a vectorized axis that is not the innermost", "is not the innermost axis",
       [](Program& p) {
         Chain c(p, {4, 64});
         c.out->axis(0)->parallelize(Vectorize);
         p.lower();
       }},
      {"a vectorized axis outside a shared loop", "is not the innermost axis",
       [](Program& p) {
         Chain c(p, {4, 64});
         c.out->axis(0)->parallelize(Vectorize);
         c.out->axis(1)->parallelize(TIDx);
         c.body->axis(1)->parallelize(TIDx);
         c.load->axis(1)->parallelize(TIDx);
         p.lower();
       }},
      {"vectors of three", "vectorized by 3 elements",
       [](Program& p) {
         Chain c(p, {8, 63});
         c.splitAll(1, 3);
         c.out->axis(2)->parallelize(Vectorize);
         p.lower();
       }},
      {"vectors of 64 bytes", "vectorized by 16 elements of float (64 bytes)",
       [](Program& p) {
         Chain c(p);
         c.splitAll(1, 16);
         c.out->axis(2)->parallelize(Vectorize);
         p.lower();
       }},
      {"vectors of an operation that is no copy", "is no copy",
       [](Program& p) {
         Chain c(p);
         c.splitAll(1, 4);
         c.body->axis(2)->parallelize(Vectorize);
         p.lower();
       }},
      {"a vectorized reduction", "is a reduction and cannot be bound to Vectorize",
       [](Program& p) {
         Centred c(p);
         c.total->split(1, 4);
         c.total->axis(2)->parallelize(Vectorize);
         p.lower();
       }},
      {"vectors along the columns of a matrix", "its elements are not neighbours there",
       [](Program& p) {
         Chain c(p);
         for (TensorView* tv : {c.load, c.body, c.out}) {
           tv->reorder({{0, 1}});
           tv->split(1, 4);
         }
         c.load->axis(2)->parallelize(Vectorize);
         p.lower();
       }},
      {"vectors of a tensor with any strides", "its elements are not neighbours there",
       [](Program& p) {
         TensorView* in = makeSymbolicTensor(2);
         p.fusion.addInput(in);
         TensorView* load = set(in);
         TensorView* out = p.output(exp(load));
         for (TensorView* tv : {load, out}) {
           tv->split(1, 4);
         }
         load->axis(2)->parallelize(Vectorize);
         load->inlineAt(2);
         p.lower();
       }},
      {"vectors of a slice", "is no copy",
       [](Program& p) {
         TensorView* part = slice(set(p.input({8, 64})), {0, 1}, {8, 33});
         TensorView* out = p.output(set(part));
         for (TensorView* tv : {part, out}) {
           tv->split(1, 4);
         }
         part->axis(2)->parallelize(Vectorize);
         p.lower();
       }},
      {"registers read by other threads of another split", "T1 is kept in registers",
       [](Program& p) {
         Chain c(p);
         c.load->split(1, 16);
         c.body->split(1, 32);
         c.out->split(1, 32);
         c.load->axis(2)->parallelize(TIDx);
         c.body->axis(2)->parallelize(TIDx);
         c.out->axis(2)->parallelize(TIDx);
         c.body->inlineAt(3);
         p.lower();
       }},
      {"registers of all threads read by each", "T1 is kept in registers",
       [](Program& p) {
         Chain c(p);
         c.load->axis(1)->parallelize(TIDx);
         p.lower();
       }},
      {"registers read along another thread dimension", "T2 is kept in registers",
       [](Program& p) {
         Chain c(p);
         c.load->axis(1)->parallelize(TIDx);
         c.body->axis(1)->parallelize(TIDx);
         c.out->axis(1)->parallelize(TIDy);
         p.lower();
       }},
      {"registers transposed among threads", "T1 is kept in registers",
       [](Program& p) {
         Chain c(p, {64, 64});
         c.load->axis(0)->parallelize(TIDx);
         c.body->axis(1)->parallelize(TIDx);
         c.out->axis(1)->parallelize(TIDx);
         c.body->inlineAt(2);
         p.lower();
       }},
      {"registers read by other blocks", "T1 is kept in registers",
       [](Program& p) {
         Chain c(p);
         c.load->axis(0)->parallelize(BIDx);
         p.lower();
       }},
      {"shared memory read by other blocks", "T1 is kept in shared memory",
       [](Program& p) {
         Chain c(p);
         c.load->setMemoryType(MemoryType::Shared);
         c.load->axis(0)->parallelize(BIDx);
         c.body->axis(1)->parallelize(BIDx);
         c.out->axis(1)->parallelize(BIDx);
         c.body->inlineAt(2);
         p.lower();
       }},
      {"a broadcast that merges what it widens", "is kept in registers",
       [](Program& p) {
         TensorView* narrow = set(p.input({8}));
         TensorView* wide = broadcast(narrow, {false, true});
         TensorView* out = p.output(add(wide, p.input({8, 4})));
         wide->merge(0);
         out->merge(0);
         wide->axis(0)->parallelize(TIDx);
         out->axis(0)->parallelize(TIDx);
         p.lower();
       }},
      {"registers of a size known only at run time", "cannot be kept in registers",
       [](Program& p) {
         TensorView* load = set(p.symbolicInput(2));
         TensorView* out = p.output(exp(load));
         load->axis(0)->parallelize(TIDx);
         out->axis(0)->parallelize(TIDx);
         p.lower();
       }},
      {"one loop bound to two dimensions", "bind both alike",
       [](Program& p) {
         Chain c(p);
         inlineMost();
         c.body->axis(1)->parallelize(TIDx);
         c.out->axis(1)->parallelize(TIDy);
         p.lower();
       }},
      {"a thread loop vectorized by a consumer", "bind both alike",
       [](Program& p) {
         Chain c(p);
         c.splitAll(1, 4);
         inlineMost();
         c.body->axis(2)->parallelize(TIDx);
         c.out->axis(2)->parallelize(Vectorize);
         p.lower();
       }},
      {"a scatter inside a kernel", "cannot be part of a generated kernel",
       [](Program& p) {
         TensorView* index = p.input({4, 64}, DataType::Int);
         p.output(scatter(p.input({8, 64}), 0, index, p.input({4, 64})));
         p.lower();
       }},
      {"memory exchanged among tasks of the CPU", "T1 is kept in global memory",
       [](Program& p) {
         Chain c(p);
         c.load->setMemoryType(MemoryType::Global);
         c.load->axis(0)->parallelize(BIDx);
         c.body->axis(1)->parallelize(BIDx);
         c.out->axis(1)->parallelize(BIDx);
         c.body->inlineAt(2);
         p.lower(LowerTarget::Cpu);
       }},
      {"a circular buffer outside any loop", "is inside no loop, so nothing can be loaded ahead",
       [](Program& p) {
         Chain c(p);
         c.load->setMemoryType(MemoryType::Shared);
         c.load->circularBuffer(2);
         p.lower();
       }},
      {"a circular buffer along a thread dimension", "is bound to threadIdx.x\n",
       [](Program& p) {
         Chain c(p);
         c.load->setMemoryType(MemoryType::Shared);
         c.bindAll(0, TIDx);
         inlineAllAt(c.out, 1);
         c.load->circularBuffer(2);
         p.lower();
       }},
      {"a circular buffer in global memory", "only memory on the chip has stages",
       [](Program& p) {
         Chain c(p);
         c.load->setMemoryType(MemoryType::Global);
         c.load->inlineAt(1);
         c.load->circularBuffer(2);
         p.lower();
       }},
      {"Welford's results scheduled apart", "cannot share a loop with",
       [](Program& p) {
         WelfordResult w = Welford(set(p.input({8, 64})), {1});
         p.output(w.avg);
         p.output(w.var_sum);
         w.avg->split(0, 4);
         p.lower();
       }},
      {"Welford's results bound apart", "bind both alike",
       [](Program& p) {
         WelfordResult w = Welford(set(p.input({8, 64})), {1});
         TensorView* mean = p.output(set(w.avg));
         TensorView* var = p.output(set(w.var_sum));
         w.avg->axis(0)->parallelize(TIDx);
         mean->axis(0)->parallelize(TIDx);
         w.var_sum->axis(0)->parallelize(TIDy);
         var->axis(0)->parallelize(TIDy);
         p.lower();
       }},
      {"warps of an axis that is no TIDx", "warps are made of threadIdx.x",
       [](Program& p) {
         Chain c(p);
         c.bindAll(1, TIDy);
         c.out->axis(1)->padToMultipleOfWarp();
         p.lower();
       }},
      {"an unrolled loop inside a vector", "is not the innermost axis",
       [](Program& p) {
         Chain c(p);
         c.splitAll(1, 4);
         c.splitAll(2, 2);
         c.out->axis(2)->parallelize(Vectorize);
         c.out->axis(3)->parallelize(Unroll);
         p.lower();
       }},
      {"a position beyond a consumer's new loop domain", "inline it again after scheduling",
       [](Program& p) {
         Chain c(p);
         inlineMost();
         auto [o, i] = std::pair{c.out->axis(0), c.out->axis(1)};
         IterDomain* merged = IterDomain::merge(o, i);
         c.out->setLoopDomain({merged});
         p.lower();
       }},
      {"a shared loop of which one side was replaced", "cannot share a loop",
       [](Program& p) {
         Chain c(p);
         inlineMost();
         c.out->setLoopDomain({c.out->axis(1), c.out->axis(0)});
         p.lower();
       }},
      {"inlining across a path that leaves the loop", "cannot share their loops",
       [](Program& p) {
         Centred c(p);
         InlineState::setComputeAt(c.row, 2);
         p.lower();
       }},
      {"inlining inside a reduction by force", "each needs another one to be finished first",
       [](Program& p) {
         Centred c(p);
         InlineState::setComputeAt(c.total, 2);
         p.lower();
       }},
  };
}

}  // namespace

std::vector<Case> schedules() {
  std::vector<Case> all = refusedByPrimitives();
  for (Case& wrong : refusedByLowering()) {
    all.push_back(std::move(wrong));
  }
  return all;
}

TEST_CASE("malformed schedules are refused") {
  for (const Case& wrong : schedules()) {
    checkCase(wrong);
  }
}

}  // namespace nvfuser::malformed
