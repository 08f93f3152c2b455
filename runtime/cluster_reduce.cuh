// Reductions among the blocks of a cluster (sm_90 and later), in order of their ranks. All threads
// of all blocks get the result.
//
//   clusterAllReduce<TX, TY, TZ>(s, smem)
//
// Before the call, the threads of a block that differ only in the reduced thread dimensions TX, TY,
// TZ hold the same state (the result of blockAllReduce over them); the others hold states of
// different results. S as in warp_reduce.cuh. smem: one S for each result of a block, in dynamic
// shared memory at the same place in all blocks; free again after the call. All threads call.
//
// needs: basics.cuh cluster.cuh
#if defined(NVFUSER_EMULATED) || __CUDA_ARCH__ >= 900
template <bool TX, bool TY, bool TZ, class S>
__device__ __forceinline__ S clusterAllReduce(S s, void* smem) {
  u32 result = 0, results = 1;
  bool writes = true;  // the first of the threads that share a result
  if (TX) {
    writes = writes && threadIdx.x == 0;
  } else {
    result += threadIdx.x * results;
    results *= blockDim.x;
  }
  if (TY) {
    writes = writes && threadIdx.y == 0;
  } else {
    result += threadIdx.y * results;
    results *= blockDim.y;
  }
  if (TZ) {
    writes = writes && threadIdx.z == 0;
  } else {
    result += threadIdx.z * results;
  }
  S* slot = static_cast<S*>(smem) + result;
  if (writes) {
    *slot = s;
  }
  clusterSync();
  s = *mapSharedRank(slot, 0);
  for (u32 rank = 1; rank < clusterSize(); ++rank) {
    s = S::combine(s, *mapSharedRank(slot, rank));
  }
  clusterSync();  // a block must not reuse its slots, nor end, while others read them
  return s;
}
#endif
