// Barriers in shared memory that count the bytes of bulk copies (mbarrier, sm_90 and later). A
// barrier goes from phase to phase; a phase is over when its arrivals have come and all bytes that
// were announced are there. Before sm_90 nothing is in flight, and nothing waits.
//
//   mbarrierInit(barriers, n)        one thread makes n barriers ready; all of the block call it. A
//                                    __syncthreads() must follow before they are used. One arrival
//                                    ends a phase, or as many as a third argument says
//   mbarrierExpect(barrier, bytes)   announces bytes to the phase that runs; one thread
//   mbarrierArrive(barrier)          an arrival: this thread announces nothing more; what it has
//                                    done is ordered before what those do that have waited
//   mbarrierWait(barrier, parity)    until the phase of that parity (0, 1, 0, …) is over; then what
//                                    its copies wrote is visible to the thread that waited
//   fenceAsyncProxy()                what this thread wrote to shared memory may be read by bulk
//                                    copies that are issued behind the next barrier
//   isBlockLeader()                  the one thread: the block's first
//
// needs: basics.cuh block_part.cuh
__device__ __forceinline__ bool isBlockLeader() { return threadOfBlock() == 0; }

#if defined(NVFUSER_EMULATED)
constexpr bool kHasBulkCopy = true;
__device__ __forceinline__ void fenceAsyncProxy() { __nvf_fence_async_proxy(); }
__device__ __forceinline__ void mbarrierInitOne(u64* barrier, u32 arrivals = 1) {
  __nvf_mbarrier_init(barrier, arrivals);
}
__device__ __forceinline__ void mbarrierExpect(u64* barrier, u32 bytes) {
  __nvf_mbarrier_expect(barrier, bytes);
}
__device__ __forceinline__ void mbarrierArrive(u64* barrier) { __nvf_mbarrier_arrive(barrier); }
__device__ __forceinline__ void mbarrierWait(u64* barrier, u32 parity) {
  __nvf_mbarrier_wait(barrier, parity);
}
#elif __CUDA_ARCH__ >= 900
constexpr bool kHasBulkCopy = true;
__device__ __forceinline__ void fenceAsyncProxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ u32 sharedAddress(const void* p) {
  return (u32)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void mbarrierInitOne(u64* barrier, u32 arrivals = 1) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)),
               "r"(arrivals)
               : "memory");
}
__device__ __forceinline__ void mbarrierExpect(u64* barrier, u32 bytes) {
  asm volatile(
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)),
      "r"(bytes)
      : "memory");
}
__device__ __forceinline__ void mbarrierArrive(u64* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(barrier)) : "memory");
}
__device__ __forceinline__ void mbarrierWait(u64* barrier, u32 parity) {
  const u32 address = sharedAddress(barrier);
  u32 done = 0;
  while (!done) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(address), "r"(parity)
        : "memory");
  }
}
#else
constexpr bool kHasBulkCopy = false;
__device__ __forceinline__ void fenceAsyncProxy() {}
__device__ __forceinline__ void mbarrierInitOne(u64*, u32 = 1) {}
__device__ __forceinline__ void mbarrierExpect(u64*, u32) {}
__device__ __forceinline__ void mbarrierArrive(u64*) {}
__device__ __forceinline__ void mbarrierWait(u64*, u32) {}
#endif

__device__ __forceinline__ void mbarrierInit(u64* barriers, int n, u32 arrivals = 1) {
  if (isBlockLeader()) {
    for (int i = 0; i < n; ++i) {
      mbarrierInitOne(barriers + i, arrivals);
    }
    fenceAsyncProxy();
  }
}
