// Reductions among the lanes of a warp, in a fixed order, of any state.
//
// A state S is a struct that can be copied bytewise, with `static S combine(const S& a, const S&
// b)` (associative and commutative up to rounding) and `static S identity()`. All lanes get the
// same bits: of two partners, the lower lane's state is the left operand.
//
//   warpAllReduce<Width>(s, mask)   over groups of Width (a power of two ≤ 32) neighbouring lanes;
//                                   `mask` names the lanes that call, whole groups of them
//   shuffleXor(s, lane_mask, mask), shuffleIndex(s, lane, mask)
//
// needs: basics.cuh
template <class S>
struct ShuffleWords {
  u32 w[(sizeof(S) + 3) / 4];
};
template <class S>
__device__ __forceinline__ ShuffleWords<S> toShuffleWords(const S& s) {
  ShuffleWords<S> words;
  words.w[(sizeof(S) + 3) / 4 - 1] = 0;
#ifdef NVFUSER_EMULATED
  __builtin_memcpy(&words, &s, sizeof(S));
#else
  memcpy(&words, &s, sizeof(S));
#endif
  return words;
}
template <class S>
__device__ __forceinline__ S fromShuffleWords(const ShuffleWords<S>& words) {
  S s;
#ifdef NVFUSER_EMULATED
  __builtin_memcpy(&s, &words, sizeof(S));
#else
  memcpy(&s, &words, sizeof(S));
#endif
  return s;
}

template <class S>
__device__ __forceinline__ S shuffleXor(const S& s, int lane_mask, u32 mask = 0xffffffffu) {
  ShuffleWords<S> words = toShuffleWords(s);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(words) / 4); ++i) {
    words.w[i] = __shfl_xor_sync(mask, words.w[i], lane_mask);
  }
  return fromShuffleWords<S>(words);
}
template <class S>
__device__ __forceinline__ S shuffleIndex(const S& s, int lane, u32 mask = 0xffffffffu) {
  ShuffleWords<S> words = toShuffleWords(s);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(words) / 4); ++i) {
    words.w[i] = __shfl_sync(mask, words.w[i], lane);
  }
  return fromShuffleWords<S>(words);
}

// The linear index of a thread in its block, x fastest, and its lane.
__device__ __forceinline__ u32 linearThread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ __forceinline__ u32 laneIndex() { return linearThread() % 32u; }

template <int Width, class S>
__device__ __forceinline__ S warpAllReduce(S s, u32 mask = 0xffffffffu) {
  static_assert(Width >= 1 && Width <= 32 && (Width & (Width - 1)) == 0, "a power of two up to 32");
  u32 lane = laneIndex();
#pragma unroll
  for (int distance = 1; distance < Width; distance *= 2) {
    S other = shuffleXor(s, distance, mask);
    s = (lane & distance) ? S::combine(other, s) : S::combine(s, other);
  }
  return s;
}

// The same for a width known at run time.
template <class S>
__device__ __forceinline__ S warpAllReduce(S s, int width, u32 mask) {
  u32 lane = laneIndex();
  for (int distance = 1; distance < width; distance *= 2) {
    S other = shuffleXor(s, distance, mask);
    s = (lane & distance) ? S::combine(other, s) : S::combine(s, other);
  }
  return s;
}
