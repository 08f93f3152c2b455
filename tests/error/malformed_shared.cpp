// Memory that threads, blocks or the CPU's tasks share, where they would write over each other's
// elements, or read what none of them has written.
#include <malformed_schedules.h>

namespace nvfuser::malformed {

namespace {

using enum ParallelType;

/// Loops of all tensors like those of `out`, its first two bound, and `kept` in shared memory.
void bindAllLike(TensorView* out, ParallelType first, ParallelType second, TensorView* kept) {
  scheduler_utils::transformPropagateToAllFrom(out);
  out->axis(0)->parallelize(first);
  out->axis(1)->parallelize(second);
  scheduler_utils::parallelizeAllLike(out);
  kept->setMemoryType(MemoryType::Shared);
  inlineMost();
}

}  // namespace

std::vector<Case> sharedMemory() {
  return {
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
      {"shared memory that threads of a wider loop write together",
       "several of threadIdx.x compute one element of T3",
       [](Program& p) {
         TensorView* wide = broadcast(set(p.input({8})), {true, false});
         TensorView* kept = set(wide);
         TensorView* out = p.output(add(kept, p.input({4, 8})));
         out->merge(0);
         out->axis(0)->parallelize(TIDx);
         scheduler_utils::transformPropagateToAllFrom(out);
         scheduler_utils::parallelizeAllLike(out);
         kept->setMemoryType(MemoryType::Shared);
         inlineMost();
         p.lower();
       }},
      {"global memory that tasks of a wider loop write together",
       "several of blockIdx.x compute one element of T3",
       [](Program& p) {
         TensorView* wide = broadcast(set(p.input({8})), {true, false});
         TensorView* kept = set(wide);
         TensorView* out = p.output(add(kept, p.input({4, 8})));
         out->merge(0);
         out->axis(0)->parallelize(BIDx);
         scheduler_utils::transformPropagateToAllFrom(out);
         scheduler_utils::parallelizeAllLike(out);
         kept->setMemoryType(MemoryType::Global);
         inlineMost();
         p.lower(LowerTarget::Cpu);
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
      {"memory that a later iteration writes", "in the same loop may read it before",
       [](Program& p) {
         TensorView* rows = broadcast(p.symbolicInput(1), {true, false});
         TensorView* many =
             expand(rows, {IrBuilder::create<Val>(int64_t{64}), rows->axis(1)->extent()});
         TensorView* load = set(many);
         TensorView* out = p.output(exp(load));
         load->setMemoryType(MemoryType::Global);
         out->split(0, 16, false);
         out->merge(0);
         out->merge(0);
         out->split(0, 5);
         out->reorder({{1, 0}});
         scheduler_utils::transformPropagateToAllFrom(out);
         out->axis(1)->parallelize(BIDx);
         scheduler_utils::parallelizeAllLike(out);
         inlineMost();
         p.lower();
       }},
      {"elements of shared memory that meet in one iteration of another tensor's loop",
       "threads of threadIdx.x are at different ones",
       [](Program& p) {
         TensorView* in = p.input({4});
         TensorView* body = exp(in);
         TensorView* kept = broadcast(body, {false, true});
         TensorView* out = p.output(neg(kept));
         out->split(0, 2);
         out->split(2, 128);
         out->reorder({{1, 0}, {3, 1}});  // 2, 128, |in| / 2, 1
         out->merge(2);
         out->merge(1);
         out->merge(0);
         out->split(0, 64);
         scheduler_utils::transformPropagateToAllFrom(out);
         out->axis(1)->parallelize(TIDx);
         scheduler_utils::parallelizeAllLike(out);
         kept->setMemoryType(MemoryType::Shared);
         inlineMost();
         p.lower();
       }},
      {"an element that threads of some blocks write together", "in some blocks at",
       [](Program& p) {
         TensorView* in = p.input({1, 5});
         TensorView* zeros = zeros_like(in);
         TensorView* kept = squeeze(exp(in), std::vector<bool>{true, false});
         TensorView* wide = broadcast(kept, {true, false});
         TensorView* out = p.output(add(zeros, wide));
         out->split(0, 4);
         out->merge(0);
         out->merge(0);
         out->split(0, 2, false);
         out->reorder({{1, 0}});
         bindAllLike(out, BIDx, TIDy, kept);
         p.lower();
       }},
  };
}

TEST_CASE("malformed use of memory that threads share is refused by lowering") {
  for (const Case& wrong : sharedMemory()) {
    checkCase(wrong);
  }
}

}  // namespace nvfuser::malformed
