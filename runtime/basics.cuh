// Short integer names, vectors of elements, and memory accesses of a chosen width.
//
//   Vec<T, N>               N elements, aligned to their size (16 bytes at most); zero cost to copy
//   loadVec<N>(p)           N elements in one access of N * sizeof(T) bytes (several of 16 if it is
//                           more); p must be a multiple of that
//   loadVecStreaming<N>(p)  the same for data that is read once: evicted first
//   loadStreaming(p)        one element of such data
//   loadVecConstant<N>(p)   the same for data that no thread writes during the kernel (read-only
//                           cache)
//   loadVecIf<N>(c, p)      loadVec<N>(p) if c holds, else N elements of which all bits are zero
//   storeVec(p, v), storeVecStreaming(p, v)
//   infinity<T>(), quietNan<T>(), largest<T>(), lowest<T>() for float and double; ceilDiv(a, b) for
//     a ≥ 0, b > 0
//   bitCast<To>(from)       same size, same bits
//
// needs:
using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

template <class To, class From>
__device__ __forceinline__ To bitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "bitCast keeps the size");
  To to;
#ifdef NVFUSER_EMULATED
  __builtin_memcpy(&to, &from, sizeof(To));
#else
  memcpy(&to, &from, sizeof(To));
#endif
  return to;
}

template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec {
  T v[N];
  __device__ __forceinline__ T& operator[](int i) { return v[i]; }
  __device__ __forceinline__ const T& operator[](int i) const { return v[i]; }
};

// The machine word of an access.
template <int Bytes>
struct AccessWord;
template <>
struct AccessWord<1> {
  using type = u8;
};
template <>
struct AccessWord<2> {
  using type = u16;
};
template <>
struct AccessWord<4> {
  using type = u32;
};
template <>
struct AccessWord<8> {
  using type = uint2;
};
template <>
struct AccessWord<16> {
  using type = uint4;
};

enum class Cache { Normal, Streaming, Constant };

template <Cache cache, class Word>
__device__ __forceinline__ Word loadWord(const Word* p) {
  if constexpr (cache == Cache::Streaming) {
    return __ldcs(p);
  } else if constexpr (cache == Cache::Constant) {
    return __ldg(p);
  } else {
#ifdef NVFUSER_EMULATED
    return __nvf_load(p);
#else
    return *p;
#endif
  }
}
template <Cache cache, class Word>
__device__ __forceinline__ void storeWord(Word* p, const Word& word) {
  if constexpr (cache == Cache::Streaming) {
    __stcs(p, word);
  } else {
#ifdef NVFUSER_EMULATED
    __nvf_store(p, word);
#else
    *p = word;
#endif
  }
}

template <Cache cache, int N, class T>
__device__ __forceinline__ Vec<T, N> loadVecCached(const T* p) {
  constexpr int kBytes = sizeof(T) * N < 16 ? sizeof(T) * N : 16;
  constexpr int kWords = sizeof(T) * N / kBytes;
  static_assert(kBytes * kWords == sizeof(T) * N && (kBytes & (kBytes - 1)) == 0,
                "a power of two, or many of 16 bytes");
  using Word = typename AccessWord<kBytes>::type;
  struct Words {
    Word w[kWords];
  } words;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    words.w[i] = loadWord<cache>(reinterpret_cast<const Word*>(p) + i);
  }
  return bitCast<Vec<T, N>>(words);
}
template <Cache cache, class T, int N>
__device__ __forceinline__ void storeVecCached(T* p, const Vec<T, N>& v) {
  constexpr int kBytes = sizeof(T) * N < 16 ? sizeof(T) * N : 16;
  constexpr int kWords = sizeof(T) * N / kBytes;
  static_assert(kBytes * kWords == sizeof(T) * N && (kBytes & (kBytes - 1)) == 0,
                "a power of two, or many of 16 bytes");
  using Word = typename AccessWord<kBytes>::type;
  struct Words {
    Word w[kWords];
  };
  Words words = bitCast<Words>(v);
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    storeWord<cache>(reinterpret_cast<Word*>(p) + i, words.w[i]);
  }
}

template <int N, class T>
__device__ __forceinline__ Vec<T, N> loadVec(const T* p) {
  return loadVecCached<Cache::Normal, N>(p);
}
template <int N, class T>
__device__ __forceinline__ Vec<T, N> loadVecIf(bool condition, const T* p) {
  // As words: the choice is made between these, not between elements.
  struct Words {
    u32 w[sizeof(T) * N / sizeof(u32)];
  } words = {};
  static_assert(sizeof(words) == sizeof(T) * N, "a multiple of four bytes");
  if (condition) {
    words = bitCast<Words>(loadVec<N>(p));
  }
  return bitCast<Vec<T, N>>(words);
}
template <int N, class T>
__device__ __forceinline__ Vec<T, N> loadVecStreaming(const T* p) {
  return loadVecCached<Cache::Streaming, N>(p);
}
template <class T>
__device__ __forceinline__ T loadStreaming(const T* p) {
  return bitCast<T>(
      loadWord<Cache::Streaming>(reinterpret_cast<const typename AccessWord<sizeof(T)>::type*>(p)));
}
template <int N, class T>
__device__ __forceinline__ Vec<T, N> loadVecConstant(const T* p) {
  return loadVecCached<Cache::Constant, N>(p);
}
template <class T, int N>
__device__ __forceinline__ void storeVec(T* p, const Vec<T, N>& v) {
  storeVecCached<Cache::Normal>(p, v);
}
template <class T, int N>
__device__ __forceinline__ void storeVecStreaming(T* p, const Vec<T, N>& v) {
  storeVecCached<Cache::Streaming>(p, v);
}

template <class T>
__device__ __forceinline__ T infinity();
template <>
__device__ __forceinline__ float infinity<float>() {
  return __int_as_float(0x7f800000);
}
template <>
__device__ __forceinline__ double infinity<double>() {
  return __longlong_as_double(0x7ff0000000000000ll);
}
template <class T>
__device__ __forceinline__ T quietNan();
template <>
__device__ __forceinline__ float quietNan<float>() {
  return __int_as_float(0x7fc00000);
}
template <>
__device__ __forceinline__ double quietNan<double>() {
  return __longlong_as_double(0x7ff8000000000000ll);
}
template <class T>
__device__ __forceinline__ T largest();
template <>
__device__ __forceinline__ float largest<float>() {
  return __int_as_float(0x7f7fffff);
}
template <>
__device__ __forceinline__ double largest<double>() {
  return __longlong_as_double(0x7fefffffffffffffll);
}
template <class T>
__device__ __forceinline__ T lowest() {
  return -largest<T>();
}

// Of two arithmetic types, the one that operators give.
template <class A, class B>
using Common = decltype(true ? A() : B());

template <class A, class B>
__host__ __device__ constexpr Common<A, B> ceilDiv(A a, B b) {
  using T = Common<A, B>;
  return (T)((T)a / (T)b + ((T)a % (T)b != (T)0 ? (T)1 : (T)0));
}
