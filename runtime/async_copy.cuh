// Copies from global to shared memory that do not pass through registers (cp.async; a plain copy
// before sm_80).
//
//   asyncCopy<Bytes>(shared, global, valid)   Bytes is 4, 8 or 16, both addresses multiples of it;
//                                             if not `valid`, zeros are written and `global` is not
//                                             read
//   asyncCopyCommit()                         closes a group of copies
//   asyncCopyWait<N>()                        waits until at most N groups of this thread are open
//
// After the wait, the data is visible to the thread that copied; to others after a barrier.
//
// needs: basics.cuh
template <int Bytes>
__device__ __forceinline__ void asyncCopy(void* shared, const void* global, bool valid = true) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async moves 4, 8 or 16 bytes");
#if defined(NVFUSER_EMULATED)
  __nvf_async_copy(shared, global, Bytes, valid ? Bytes : 0);
#elif __CUDA_ARCH__ >= 800
  u32 to = (u32)__cvta_generic_to_shared(shared);
  int bytes = valid ? Bytes : 0;
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(Bytes),
                 "r"(bytes)
                 : "memory");
  }
#else
  using Word = typename AccessWord<Bytes>::type;
  Word word = {};
  if (valid) {
    word = *static_cast<const Word*>(global);
  }
  *static_cast<Word*>(shared) = word;
#endif
}

__device__ __forceinline__ void asyncCopyCommit() {
#if defined(NVFUSER_EMULATED)
  __nvf_async_commit();
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int N>
__device__ __forceinline__ void asyncCopyWait() {
#if defined(NVFUSER_EMULATED)
  __nvf_async_wait(N);
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}
