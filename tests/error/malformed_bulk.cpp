// Wrong uses of Bulk: what is no copy, no stretch of memory, or not made by the block as a whole.
#include <malformed.h>

namespace nvfuser::malformed {

namespace {

using enum ParallelType;

/// T0[8, 64] → T1 = copy (shared) → T2 = exp (shared) → T3 = set (output).
struct Staged {
  TensorView* in;
  TensorView* load;
  TensorView* body;
  TensorView* out;

  explicit Staged(Program& p) : in(p.input({8, 64})) {
    body = exp(in);
    out = p.output(set(body));
    load = in->cacheAfter(LoadStoreOpType::CpAsyncBulk);
    load->setMemoryType(MemoryType::Shared);
    body->setMemoryType(MemoryType::Shared);
  }
};

}  // namespace

std::vector<Case> bulkCopies() {
  return {
      {"a bulk copy without an axis",
       "is copied by CpAsyncBulk, but none of its axes is bound to Bulk",
       [](Program& p) {
         Staged s(p);
         p.lower();
       }},
      {"the same on the CPU", "axis(-1)->parallelize(ParallelType::Bulk)",
       [](Program& p) {
         Staged s(p);
         p.lower(LowerTarget::Cpu);
       }},
      {"Bulk of what is computed", "only a copy can be made in bulk",
       [](Program& p) {
         Staged s(p);
         s.load->axis(1)->parallelize(Bulk);
         s.body->axis(1)->parallelize(Bulk);
         p.lower();
       }},
      {"Bulk of a reduction", "is computed by reduction_add; only a copy can be made in bulk",
       [](Program& p) {
         TensorView* total = p.output(sum(p.input({8, 64}), {1}));
         total->axis(0)->parallelize(Bulk);
         p.lower();
       }},
      {"Bulk of cp.async", "is copied by cp.async, which moves 16 bytes at most",
       [](Program& p) {
         TensorView* in = p.input({8, 64});
         p.output(exp(in));
         TensorView* load = in->cacheAfter(LoadStoreOpType::CpAsync);
         load->setMemoryType(MemoryType::Shared);
         load->axis(1)->parallelize(Bulk);
         p.lower();
       }},
      {"a bulk load into registers", "from global memory (T0) to registers",
       [](Program& p) {
         Staged s(p);
         s.load->setMemoryType(MemoryType::Local);
         s.load->axis(1)->parallelize(Bulk);
         p.lower();
       }},
      {"a bulk store out of registers", "setMemoryType(MemoryType::Shared) of T1",
       [](Program& p) {
         Staged s(p);
         s.load->axis(1)->parallelize(Bulk);
         s.body->setMemoryType(MemoryType::Local);
         s.out->axis(1)->parallelize(Bulk);
         p.lower();
       }},
      {"a bulk load of what the kernel writes", "a bulk copy would not see it",
       [](Program& p) {
         Staged s(p);
         s.load->axis(1)->parallelize(Bulk);
         s.body->setMemoryType(MemoryType::Global);
         TensorView* again = s.body->cacheAfter(LoadStoreOpType::CpAsyncBulk);
         again->setMemoryType(MemoryType::Shared);
         again->axis(1)->parallelize(Bulk);
         p.lower();
       }},
      {"a bulk store that is read again", "is stored in bulk, but T",
       [](Program& p) {
         Staged s(p);
         s.load->axis(1)->parallelize(Bulk);
         s.out->axis(1)->parallelize(Bulk);
         p.output(neg(s.out));
         p.lower();
       }},
      {"two Bulk axes that are none of one stretch", "it is no box, as along an axis of T0",
       [](Program& p) {
         Staged s(p);
         s.load->split(1, 10)->merge(0)->merge(0);
         s.load->split(0, 4);
         s.load->axis(0)->parallelize(Bulk);
         s.load->axis(1)->parallelize(Bulk);
         p.lower();
       }},
      {"Bulk outside another axis", "is bound to Bulk but is not the innermost one",
       [](Program& p) {
         Staged s(p);
         s.load->axis(0)->parallelize(Bulk);
         p.lower();
       }},
      {"Bulk across a gap", "its elements are not neighbours there",
       [](Program& p) {
         Staged s(p);
         s.load->reorder({{0, 1}, {1, 0}});
         s.load->axis(1)->parallelize(Bulk);
         p.lower();
       }},
      {"Bulk beside a thread dimension", "a bulk copy is made by the block as a whole",
       [](Program& p) {
         Staged s(p);
         s.load->axis(0)->parallelize(TIDx);
         s.load->axis(1)->parallelize(Bulk);
         p.lower();
       }},
      {"Bulk inside the loop of its reader", "a bulk copy is one statement without a loop",
       [](Program& p) {
         Staged s(p);
         s.load->axis(1)->parallelize(Bulk);
         InlineState::setComputeAt(s.load, 2);
         p.lower();
       }},
      {"a bulk copy over the end of a row in the middle", "its elements are not neighbours there",
       [](Program& p) {
         Staged s(p);
         s.load->split(1, 10)->merge(0)->merge(0);
         s.load->axis(0)->parallelize(Bulk);
         p.lower();
       }},
      {"more stages than a register has bits",
       "of 33 stages that bulk copies fill; 32 are possible",
       [](Program& p) {
         Staged s(p);
         s.load->axis(1)->parallelize(Bulk);
         s.load->inlineAt(1);
         s.load->circularBuffer(33);
         p.lower();
       }},
  };
}

TEST_CASE("malformed bulk copies are refused") {
  for (const Case& wrong : bulkCopies()) {
    checkCase(wrong);
  }
}

}  // namespace nvfuser::malformed
