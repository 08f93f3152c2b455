// Wrong schedules that only lowering can see.
#include <malformed_schedules.h>

namespace nvfuser::malformed {

using enum ParallelType;

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
      {"asynchronous copies of vectors beyond an axis", "needs a multiple of 4, but goes through 6",
       [](Program& p) {
         TensorView* in = p.input({6});
         TensorView* out = p.output(exp(in));
         TensorView* load = in->cacheAfter(LoadStoreOpType::CpAsync);
         load->setMemoryType(MemoryType::Shared);
         load->split(0, 4);
         out->split(0, 4);
         load->axis(1)->parallelize(Vectorize);
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
      {"vectors of a slice that begins in the middle of one",
       "they begin at element 1, which is no multiple of 4",
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
      {"a result stored in loops that are half a wider tensor's",
       "the loops in which the result of T3 is stored do not lead to its axis",
       [](Program& p) {
         TensorView* in = p.input({5, 3});
         TensorView* other = p.input({4, 5, 3});
         TensorView* wide = broadcast(in, {true, false, false});
         p.output(sum(wide, {2}));
         TensorView* out = p.output(add(wide, other));
         out->merge(0);
         out->split(0, 4);
         out->reorder({{1, 2}});  // what is reduced between the two parts
         scheduler_utils::transformPropagateToAllFrom(out);
         inlineMost();
         p.lower();
       }},
      {"parts of one sum, by one task and by each", "are sums of one reduction",
       [](Program& p) {
         WelfordResult w = Welford(set(p.symbolicInput(2)), {0});
         p.output(exp(w.avg));
         p.output(w.var_sum);
         p.output(exp(p.input({64})))->axis(0)->parallelize(BIDx);
         p.lower(LowerTarget::Cpu);
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

TEST_CASE("malformed schedules are refused by lowering") {
  for (const Case& wrong : refusedByLowering()) {
    checkCase(wrong);
  }
}

}  // namespace nvfuser::malformed
