// Thread block clusters (sm_90 and later): blocks that run together and read each other's shared
// memory.
//
//   clusterRank(), clusterSize()   of this block, x fastest
//   clusterSync()                  barrier of all threads of all blocks of the cluster; orders
//                                  their shared memory
//   clusterArrive()                its first half: a thread that has arrived waits before it
//                                  arrives again
//   clusterWait()                  its second half
//   mapSharedRank(p, rank)         the same dynamic shared address in the block of that rank. A
//                                  block must not end, nor reuse what others read, before a
//                                  clusterSync after the last such access.
//
// needs: basics.cuh
#ifdef NVFUSER_EMULATED
inline u32 clusterRank() {
  uint3 c = __nvf_clusterDim();
  return blockIdx.x % c.x + c.x * (blockIdx.y % c.y + c.y * (blockIdx.z % c.z));
}
inline u32 clusterSize() {
  uint3 c = __nvf_clusterDim();
  return c.x * c.y * c.z;
}
inline void clusterSync() { __nvf_cluster_barrier(); }
inline void clusterArrive() {}  // the barrier is where threads wait
inline void clusterWait() { __nvf_cluster_barrier(); }
template <class T>
inline T* mapSharedRank(T* p, u32 rank) {
  return static_cast<T*>(__nvf_map_shared_rank(p, rank));
}
#elif __CUDA_ARCH__ >= 900
__device__ __forceinline__ u32 clusterRank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ u32 clusterSize() {
  u32 size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}
__device__ __forceinline__ void clusterArrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void clusterWait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void clusterSync() {
  clusterArrive();
  clusterWait();
}
template <class T>
__device__ __forceinline__ T* mapSharedRank(T* p, u32 rank) {
  u64 mapped;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(reinterpret_cast<u64>(p)), "r"(rank));
  return reinterpret_cast<T*>(mapped);
}
#endif
