// Reductions among the blocks of a cluster (sm_90 and later), in order of their ranks. All threads
// of all blocks get the result.
//
//   clusterAllReduce<TX, TY, TZ, before>(s, smem)
//
// Before the call, the threads of a block that differ only in the reduced thread dimensions TX, TY,
// TZ hold the same state (the result of blockAllReduce over them); the others hold states of
// different results. S as in warp_reduce.cuh. smem: an S of each block of the cluster for each
// result of a block, in dynamic shared memory at the same place in all blocks; free again after the
// call. All threads call. Each block writes its state to all others, so that what is read is its
// own memory, and none has to wait for others before it ends.
//
// Nobody writes to a block that has not started, or that uses smem for something else. `before`
// says how that is known:
//   Cluster::Meets    by a barrier of the cluster in the call
//   Cluster::Arrived  all threads have done clusterArrive(), once, before they used smem
//   Cluster::Met      there was a barrier of the cluster since smem was used
//
// needs: basics.cuh cluster.cuh
#if defined(NVFUSER_EMULATED) || __CUDA_ARCH__ >= 900
enum class Cluster { Meets, Arrived, Met };

template <bool TX, bool TY, bool TZ, Cluster before = Cluster::Meets, class S>
__device__ __forceinline__ S clusterAllReduce(S s, void* smem) {
  u32 result = 0, results = 1;
  u32 sharer = 0, sharers = 1;  // threads that hold the same state
  const u32 thread[3] = {threadIdx.x, threadIdx.y, threadIdx.z};
  const u32 extent[3] = {blockDim.x, blockDim.y, blockDim.z};
  const bool reduced[3] = {TX, TY, TZ};
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    u32& index = reduced[d] ? sharer : result;
    u32& count = reduced[d] ? sharers : results;
    index += thread[d] * count;
    count *= extent[d];
  }
  const u32 blocks = clusterSize();
  S* const slots = static_cast<S*>(smem) + result * blocks;
  if (before == Cluster::Meets) {
    clusterSync();
  } else if (before == Cluster::Arrived) {
    clusterWait();
  }
  for (u32 rank = sharer; rank < blocks; rank += sharers) {
    *mapSharedRank(slots + clusterRank(), rank) = s;
  }
  clusterSync();
  s = slots[0];
  for (u32 rank = 1; rank < blocks; ++rank) {
    s = S::combine(s, slots[rank]);
  }
  return s;
}
#endif
