// A barrier of all blocks of a cooperative launch, or of a group of them.
//
//   gridSync(barrier, blocks, first)   `barrier` is one u32 in global memory, zero before its first
//                                      use ever; `blocks` is how many blocks share it; `first` is
//                                      true in exactly one of them
//
// All threads of these blocks call it. Everything that any of them wrote before is visible to all
// after. The word needs no reset: each barrier adds 2^31 in total, and blocks wait for the top bit
// to change.
//
// needs: basics.cuh
__device__ __forceinline__ void gridSync(u32* barrier, u32 blocks, bool first) {
#ifdef NVFUSER_EMULATED
  (void)first;
  __nvf_grid_barrier(barrier, blocks);
#else
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    u32 add = first ? 0x80000000u - (blocks - 1) : 1u;
    __threadfence();
    u32 before = atomicAdd(barrier, add);
    u32 now;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(barrier) : "memory");
    } while (((before ^ now) & 0x80000000u) == 0);
    __threadfence();
  }
  __syncthreads();
#endif
}
