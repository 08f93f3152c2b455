// Copies of one stretch of memory by the copy engine (cp.async.bulk, sm_90 and later): one thread
// asks, no register holds the data. All threads of the block call each function, with the same
// arguments.
//
//   bulkLoad(shared, global, n, barrier)      n elements, none if n <= 0
//   bulkLoadCommit(barrier)                   closes the loads of one phase of the barrier
//   bulkLoadWait(barriers, stage, phases)     until the loads of barriers[stage] have arrived; bit
//                                             `stage` of `phases` is the phase that is waited for
//   bulkStore(global, shared, n)              what threads wrote needs fenceAsyncProxy() and a
//                                             __syncthreads() in between
//   bulkStoreCommit()                         closes a group of stores
//   bulkStoreWait<N>()                        until at most N groups still read shared memory;
//                                             other threads know it behind a __syncthreads()
//
// The engine moves multiples of 16 bytes between multiples of 16 bytes. What does not fit (odd rows
// and tails, views that begin in between), and everything before sm_90, is copied by the threads of
// the block, which then wait for each other. Where a part of the block's threads does it
// (block_part.cuh), it is the first template argument: bulkLoad<Part>(…).
//
// needs: basics.cuh mbarrier.cuh block_part.cuh
__device__ __forceinline__ bool fitsBulk(const void* a, const void* b, i64 bytes) {
  return (((u64)a | (u64)b | (u64)bytes) & 15) == 0;
}

// By all threads of the part, each its share.
template <class Part, class T>
__device__ __forceinline__ void copyByThreads(T* to, const T* from, i64 n) {
  const i64 first = Part::rank();
  const i64 step = Part::count();
  if (!kHasBulkCopy && fitsBulk(to, from, n * (i64)sizeof(T))) {
    using Word = AccessWord<16>::type;
    const i64 words = n * (i64)sizeof(T) / 16;
    for (i64 i = first; i < words; i += step) {
      reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(from)[i];
    }
    return;
  }
  for (i64 i = first; i < n; i += step) {
    to[i] = from[i];
  }
}

__device__ __forceinline__ void bulkLoadBytes(void* shared, const void* global, u32 bytes,
                                              u64* barrier) {
#if defined(NVFUSER_EMULATED)
  __nvf_bulk_load(shared, global, bytes, barrier);
#elif __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(sharedAddress(shared)),
      "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(sharedAddress(barrier))
      : "memory");
#endif
}

template <class Part = WholeBlock, class T>
__device__ __forceinline__ void bulkLoad(T* shared, const T* global, i64 n, u64* barrier) {
  if (n <= 0) {
    return;
  }
  const i64 bytes = n * (i64)sizeof(T);
  if (kHasBulkCopy && fitsBulk(shared, global, bytes)) {
    if (Part::isLeader()) {
      mbarrierExpect(barrier, (u32)bytes);
      bulkLoadBytes(shared, global, (u32)bytes, barrier);
    }
    return;
  }
  copyByThreads<Part>(shared, global, n);
  fenceAsyncProxy();  // a bulk copy may be the next to touch it
  Part::sync();
}

template <class Part = WholeBlock>
__device__ __forceinline__ void bulkLoadCommit(u64* barrier) {
  if (Part::isLeader()) {
    mbarrierArrive(barrier);
  }
}

__device__ __forceinline__ void bulkLoadWait(u64* barriers, int stage, u32& phases) {
  mbarrierWait(barriers + stage, phases >> stage & 1);
  phases ^= 1u << stage;
}

__device__ __forceinline__ void bulkStoreBytes(void* global, const void* shared, u32 bytes) {
#if defined(NVFUSER_EMULATED)
  __nvf_bulk_store(global, shared, bytes);
#elif __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(global)),
               "r"(sharedAddress(shared)), "r"(bytes)
               : "memory");
#endif
}

template <class Part = WholeBlock, class T>
__device__ __forceinline__ void bulkStore(T* global, const T* shared, i64 n) {
  if (n <= 0) {
    return;
  }
  const i64 bytes = n * (i64)sizeof(T);
  if (kHasBulkCopy && fitsBulk(global, shared, bytes)) {
    if (Part::isLeader()) {
      bulkStoreBytes(global, shared, (u32)bytes);
    }
    return;
  }
  copyByThreads<Part>(global, shared, n);
}

__device__ __forceinline__ void bulkStoreCommit() {
#if defined(NVFUSER_EMULATED)
  __nvf_bulk_commit();
#elif __CUDA_ARCH__ >= 900
  if (isBlockLeader()) {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
#endif
}

template <int N>
__device__ __forceinline__ void bulkStoreWait() {
#if defined(NVFUSER_EMULATED)
  __nvf_bulk_wait_read(N);
#elif __CUDA_ARCH__ >= 900
  if (isBlockLeader()) {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
  }
#endif
}
