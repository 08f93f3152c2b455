// Adds to elements of shared memory that the other threads of a block may add to, too, at any time
// and in any order.
//
//   addInBlock(p, v)      *p += v, for what addAt takes. Where all threads of a warp add to one
//                         element, as to sorted indices, one of them adds their sum.
//   addVecInBlock(p, v)   the same for the N elements of a Vec<float, N>
//
// Who reads the elements has a barrier of the block behind them.
//
// needs: basics.cuh combine_at.cuh
template <class T>
__device__ __forceinline__ void addInBlock(T* p, T v) {
#ifndef NVFUSER_EMULATED
  constexpr unsigned kWarp = 0xffffffffu;
  if (__activemask() == kWarp) {
    int same = 0;
    __match_all_sync(kWarp, reinterpret_cast<unsigned long long>(p), &same);
    if (same) {
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) {
        v += __shfl_xor_sync(kWarp, v, distance);
      }
      if ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32 == 0) {
        addAt(p, v);
      }
      return;
    }
  }
#endif
  addAt(p, v);
}

template <int N>
__device__ __forceinline__ void addVecInBlock(float* p, const Vec<float, N>& v) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    addAt(p + i, v[i]);
  }
}
