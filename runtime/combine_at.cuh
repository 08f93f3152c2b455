// Combines values with elements of global memory that other threads may combine with, too, at any
// time and in any order.
//
//   addAt(p, v)        *p += v, for float, double, and integers of 32 and 64 bits
//   addVecAt(p, v)     the same for the N elements of a Vec<float, N>, N 2 or 4; p must be a
//                      multiple of their size. One operation from sm_90 and CUDA 12.1 on.
//   combineAt(p, f)    *p = f(*p), for elements of 4 and 8 bytes; f may be called several times.
//                      Nothing is written where f gives what is there, as with a maximum.
//   storeAt(p, v)      *p = v; of those who write, one stays
//
// Who reads the elements has a barrier of all these threads behind them.
//
// needs: basics.cuh
template <class T>
__device__ __forceinline__ void addAt(T* p, T v) {
  if constexpr (sizeof(T) == 8 && T(0.5) == T(0)) {
    atomicAdd(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(v));
  } else {
    atomicAdd(p, v);
  }
}

template <int N>
__device__ __forceinline__ void addVecAt(float* p, const Vec<float, N>& v) {
  static_assert(N == 2 || N == 4, "a vector of 8 or 16 bytes");
#if !defined(NVFUSER_EMULATED) && __CUDA_ARCH__ >= 900 && \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 1))
  if constexpr (N == 4) {
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v[0]), "f"(v[1]),
                 "f"(v[2]), "f"(v[3])
                 : "memory");
  } else {
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(v[0]), "f"(v[1]) : "memory");
  }
#else
#pragma unroll
  for (int i = 0; i < N; ++i) {
    atomicAdd(p + i, v[i]);
  }
#endif
}

template <int Bytes>
struct AtomicWord;
template <>
struct AtomicWord<4> {
  using type = unsigned int;
};
template <>
struct AtomicWord<8> {
  using type = unsigned long long;
};

template <class T, class F>
__device__ __forceinline__ void combineAt(T* p, const F& f) {
  using Word = typename AtomicWord<sizeof(T)>::type;
  Word* word = reinterpret_cast<Word*>(p);
#ifdef NVFUSER_EMULATED
  Word seen = atomicCAS(word, Word(0), Word(0));
#else
  Word seen = *static_cast<volatile Word*>(word);
#endif
  while (true) {
    const Word before = seen;
    const Word after = bitCast<Word>(T(f(bitCast<T>(before))));
    if (after == before) {
      return;
    }
    seen = atomicCAS(word, before, after);
    if (seen == before) {
      return;
    }
  }
}

template <class T>
__device__ __forceinline__ void storeAt(T* p, const T& v) {
#ifdef NVFUSER_EMULATED
  atomicExch(p, v);
#else
  *p = v;
#endif
}
