// Wrong uses of what Hopper has: swizzled boxes, threads that only load.
#include <malformed.h>

namespace nvfuser::malformed {

namespace {

using enum ParallelType;

constexpr int kHopper = 90;

/// T0[8, 512] → T2 = copy (shared, a circular buffer) → T1 = exp, in tiles of 64 on threads.
struct Roles {
  TensorView* load;
  TensorView* out;

  explicit Roles(Program& p, int64_t threads = 64) {
    TensorView* in = p.input({8, 512});
    out = p.output(exp(in));
    load = in->cacheAfter(LoadStoreOpType::CpAsyncBulk);
    load->setMemoryType(MemoryType::Shared);
    for (TensorView* tv : {load, out}) {
      tv->split(1, threads);
      tv->axis(0)->parallelize(BIDx);
    }
    out->axis(2)->parallelize(TIDx);
    load->axis(2)->parallelize(Bulk);
    load->inlineAt(2);
  }
};

/// A tile of 16 x 32 floats.
TensorView* tile(Program& p) {
  TensorView* in = p.symbolicInput(2);
  p.output(exp(in));
  TensorView* load = in->cacheAfter(LoadStoreOpType::CpAsyncBulkTensorTile);
  load->setMemoryType(MemoryType::Shared);
  load->split(1, 32)->split(0, 16);
  load->reorder({{1, 2}, {2, 1}});
  return load;
}

}  // namespace

std::vector<Case> hopperSchedules() {
  return {
      {"a swizzle of other rows", "but the swizzle is one of 64 bytes",
       [](Program& p) {
         TensorView* load = tile(p);
         p.ready();
         load->swizzleTMABox(MmaInputSmemSwizzle::B64);
       }},
      {"a swizzle of few rows", "which are no constant multiple of 8",
       [](Program& p) {
         TensorView* load = tile(p);
         load->split(2, 4);
         p.ready();
         load->swizzleTMABox(MmaInputSmemSwizzle::B128);
       }},
      {"a swizzle of one axis", "a box has rows and columns, but T2 has 1 axes",
       [](Program& p) {
         TensorView* in = p.input({64});
         p.output(exp(in));
         TensorView* load = in->cacheAfter(LoadStoreOpType::CpAsyncBulk);
         p.ready();
         load->swizzleTMABox(MmaInputSmemSwizzle::B128);
       }},
      {"a swizzled row alone", "its elements are not neighbours there",
       [](Program& p) {
         TensorView* load = tile(p);
         load->swizzleTMABox(MmaInputSmemSwizzle::B128);
         load->axis(3)->parallelize(Bulk);
         p.lower();
       }},
      {"a box of another swizzle", "neither in order nor swizzled",
       [](Program& p) {
         TensorView* load = tile(p);
         load->swizzleTMABox(MmaInputSmemSwizzle::B128);
         std::vector<IterDomain*> memory = load->getAllocationDomain();
         std::swap(memory[memory.size() - 4], memory[memory.size() - 3]);
         load->setAllocationDomain(std::move(memory), true);
         load->axis(2)->parallelize(Bulk);
         load->axis(3)->parallelize(Bulk);
         p.lower();
       }},
      {"Bulk axes with another one between", "is bound to Bulk but is not the innermost one",
       [](Program& p) {
         TensorView* load = tile(p);
         load->axis(1)->parallelize(Bulk);
         load->axis(3)->parallelize(Bulk);
         p.lower();
       }},
      {"threads that load along blocks", "are threads of a block, not of blockIdx.x",
       [](Program& p) {
         Roles r(p);
         p.ready();
         r.load->circularBuffer(3, 2, WarpSpecialized(BIDx));
       }},
      {"a number of registers that is none", "a thread cannot be given 30 registers",
       [](Program& p) {
         Roles r(p);
         p.ready();
         r.load->circularBuffer(3, 2, WarpSpecialized(TIDy, {30, 232}));
       }},
      {"more registers than there are", "starts with 128 each, 65536 in all",
       [](Program& p) {
         Roles r(p, 256);
         r.load->circularBuffer(3, 2, WarpSpecialized(TIDy, {48, 240}));
         p.lower(LowerTarget::Cuda, kHopper);
       }},
      {"registers of half a warpgroup", "warpgroups of 128 threads, which share registers",
       [](Program& p) {
         Roles r(p);
         r.load->circularBuffer(3, 2, WarpSpecialized(TIDy, {40, 232}));
         p.lower(LowerTarget::Cuda, kHopper);
       }},
      {"half a warp that computes", "but a role has whole warps",
       [](Program& p) {
         Roles r(p, 16);
         r.load->circularBuffer(3, 2, WarpSpecialized(TIDy));
         p.lower(LowerTarget::Cuda, kHopper);
       }},
      {"threads that load inside of others", "threadIdx.y is outside of it and has 8",
       [](Program& p) {
         Roles r(p);
         r.out->axis(2)->parallelize(Serial);
         r.out->split(2, 8);
         r.out->axis(2)->parallelize(TIDy);
         r.out->axis(3)->parallelize(TIDx);
         r.load->circularBuffer(3, 2, WarpSpecialized(TIDx));
         p.lower(LowerTarget::Cuda, kHopper);
       }},
      {"threads that load what is no bulk copy", "but it is no bulk copy",
       [](Program& p) {
         TensorView* in = p.input({8, 512});
         TensorView* out = p.output(exp(in));
         TensorView* load = in->cacheAfter();
         load->setMemoryType(MemoryType::Shared);
         for (TensorView* tv : {load, out}) {
           tv->axis(1)->parallelize(TIDx);
         }
         load->inlineAt(1);
         load->circularBuffer(3, 2, WarpSpecialized(TIDy));
         p.lower(LowerTarget::Cuda, kHopper);
       }},
      {"blocks that wait for each other, with threads that load",
       "blocks wait for each other in a kernel with threads that only load",
       [](Program& p) {
         Roles r(p);
         TensorView* total = p.output(sum(r.out, {0, 1}));
         total->split(1, 64);
         total->axis(0)->parallelize(BIDx);
         total->axis(2)->parallelize(TIDx);
         r.load->circularBuffer(3, 2, WarpSpecialized(TIDy));
         p.lower(LowerTarget::Cuda, kHopper);
       }},
  };
}

TEST_CASE("malformed schedules for Hopper are refused") {
  for (const Case& wrong : hopperSchedules()) {
    checkCase(wrong);
  }
}

}  // namespace nvfuser::malformed
