// Vectors of numbers by the compiler's vector extensions, and their way to and from memory.
//
//   Simd<T, N>                     N lanes of T; + - * / & | ^ << >> < == ?: work lane by lane
//   kSimdFloats                    lanes of float in a register of this CPU
//   simdFill<N>(x)                 all lanes x
//   simdLoad<N>(p)                 N elements from any address; half_t and bf16_t become float
//   simdStore(p, v)                the other way
//   simdLoadPart<N>(p, n, fill)    the first n < N elements, `fill` in the other lanes
//   simdStorePart(p, v, n)         the first n lanes; neither touches anything beyond
//   simdStoreStreaming(p, v)       past the caches; p a multiple of the vector's size
//   simdFence()                    at the end of a task that streams
//   simdMulAdd(a, b, c)            a * b + c, rounded once where the CPU has an instruction for it
//   simdMin, simdMax               one instruction: the second operand when either is NaN
//   simdMinNan, simdMaxNan         NaN if either is; -0 is less than +0
//   simdAny(m)                     whether a comparison is true for any lane
//   simdSum(v), simdLargest(v), simdLeast(v), simdProduct(v)   over the lanes, in a fixed tree
//   simdMap(v, f)                  f on each lane
//
// Nothing else is rounded once (-ffp-contract=off), so a function that gains by it says simdMulAdd.
// GCC 12 turns a plain widening conversion into two half-width ones, and a minimum into compare and
// blend; builtins are used where they exist, the plain text elsewhere.
//
// needs: cpu/prelude.h
template <class T, int N>
struct SimdOf {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
  typedef T anywhere __attribute__((vector_size(sizeof(T) * N), aligned(sizeof(T)), may_alias));
};
template <class T, int N>
using Simd = typename SimdOf<T, N>::type;

#if defined(__AVX512F__)
constexpr int kSimdFloats = 16;
#elif defined(__AVX__)
constexpr int kSimdFloats = 8;
#else
constexpr int kSimdFloats = 4;
#endif

template <class T>
struct SimdBare {
  typedef T type;
};
template <class T>
struct SimdBare<T&> {
  typedef T type;
};
template <class T>
struct SimdBare<T&&> {
  typedef T type;
};
template <class V>
using LaneOf = typename SimdBare<decltype(V{}[0])>::type;
template <class V>
constexpr int kLanes = sizeof(V) / sizeof(LaneOf<V>);
/// Integers of the lanes' size: what comparisons give.
template <class V>
using MaskOf = decltype(V{} < V{});

template <int N, class T>
__forceinline__ Simd<T, N> simdFill(T x) {
  return x - Simd<T, N>{};  // x - 0 is x for every x; the compiler sees a broadcast
}

template <class V, class F>
__forceinline__ V simdMap(V v, F f) {
  V result;
  for (int i = 0; i < kLanes<V>; i++) {
    result[i] = f(v[i]);
  }
  return result;
}

// --- memory ----------------------------------------------------------------------------------
template <class T>
concept SimdLane = requires(T t) { t + t; };  // not half_t and its like

template <int N, SimdLane T>
__forceinline__ auto simdLoad(const T* p) {
  return (Simd<T, N>)*(const typename SimdOf<T, N>::anywhere*)p;
}
template <SimdLane T, class V>
__forceinline__ void simdStore(T* p, V v) {
  *(typename SimdOf<T, kLanes<V>>::anywhere*)p = v;
}

struct half_t;
struct bf16_t;

template <int N>
__forceinline__ Simd<float, N> simdFromBf16Bits(Simd<u16, N> bits) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (N == 16) {
    return (Simd<float, 16>)((Simd<u32, 16>)__builtin_ia32_pmovzxwd512_mask(
                                 (Simd<i16, 16>)bits, (Simd<i32, 16>){}, (u16)-1)
                             << 16);
  }
#endif
#if defined(__AVX2__) && !defined(__clang__)
  if constexpr (N == 8) {
    return (Simd<float, 8>)((Simd<u32, 8>)__builtin_ia32_pmovzxwd256((Simd<i16, 8>)bits) << 16);
  }
#endif
  return (Simd<float, N>)(__builtin_convertvector(bits, Simd<u32, N>) << 16);
}
template <int N>
__forceinline__ Simd<u16, N> simdToBf16Bits(Simd<float, N> v) {
  using U = Simd<u32, N>;
  U f = (U)v;
#if defined(__AVX512BF16__) && defined(__AVX512DQ__) && !defined(__clang__)
  // The instruction takes subnormals for zero: vectors that have one go the long way.
  if constexpr (N == 16) {
    if (__builtin_expect(__builtin_ia32_fpclassps512_mask(v, 0x20, (u16)-1) == 0, 1)) {
      return (Simd<u16, 16>)__builtin_ia32_cvtneps2bf16_v16sf(v);
    }
  }
#if defined(__AVX512VL__)
  if constexpr (N == 8) {
    if (__builtin_expect(__builtin_ia32_fpclassps256_mask(v, 0x20, (u8)-1) == 0, 1)) {
      return (Simd<u16, 8>)__builtin_ia32_cvtneps2bf16_v8sf(v);
    }
  }
#endif
#endif
  U rounded = (f + 0x7fffu + ((f >> 16) & 1u)) >> 16;
  rounded = v != v ? U{} + 0x7fffu : rounded;
  return __builtin_convertvector(rounded, Simd<u16, N>);
}
template <int N>
__forceinline__ Simd<float, N> simdFromHalfBits(Simd<u16, N> bits) {
#if defined(__clang__) && __clang_major__ >= 15
  return __builtin_convertvector((Simd<_Float16, N>)bits, Simd<float, N>);
#elif defined(__AVX512F__) && !defined(__clang__)
  if constexpr (N == 16) {
    return __builtin_ia32_vcvtph2ps512_mask((Simd<i16, 16>)bits, (Simd<float, 16>){}, (u16)-1, 4);
  }
#endif
#if defined(__F16C__) && !defined(__clang__)
  if constexpr (N == 8) {
    return __builtin_ia32_vcvtph2ps256((Simd<i16, 8>)bits);
  }
#endif
  using U = Simd<u32, N>;
  U wide = __builtin_convertvector(bits, U);
  U sign = (wide & 0x8000u) << 16, magnitude = wide & 0x7fffu;
  U f = (U)((Simd<float, N>)(magnitude << 13) * 0x1p112f);
  f |= magnitude >= 0x7c00u ? U{} + 0x7f800000u : U{};
  return (Simd<float, N>)(sign | f);
}
template <int N>
__forceinline__ Simd<u16, N> simdToHalfBits(Simd<float, N> v) {
#if defined(__clang__) && __clang_major__ >= 15
  return (Simd<u16, N>)__builtin_convertvector(v, Simd<_Float16, N>);
#elif defined(__AVX512F__) && !defined(__clang__)
  if constexpr (N == 16) {
    return (Simd<u16, 16>)__builtin_ia32_vcvtps2ph512_mask(v, 0, (Simd<i16, 16>){}, (u16)-1);
  }
#endif
#if defined(__F16C__) && !defined(__clang__)
  if constexpr (N == 8) {
    return (Simd<u16, 8>)__builtin_ia32_vcvtps2ph256(v, 0);
  }
#endif
  using U = Simd<u32, N>;
  U f = (U)v, sign = (f >> 16) & 0x8000u, magnitude = f & 0x7fffffffu;
  U normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  U small = (U)((Simd<float, N>)magnitude + 0.5f) - 0x3f000000u;
  U value = magnitude < 0x38800000u ? small : normal;
  value = magnitude >= 0x477ff000u ? U{} + 0x7c00u : value;
  value |= sign;
  value = magnitude > 0x7f800000u ? U{} + 0x7fffu : value;
  return __builtin_convertvector(value, Simd<u16, N>);
}

template <int N>
__forceinline__ Simd<float, N> simdLoad(const bf16_t* p) {
  return simdFromBf16Bits<N>(simdLoad<N>((const u16*)p));
}
template <class V>
__forceinline__ void simdStore(bf16_t* p, V v) {
  simdStore((u16*)p, simdToBf16Bits<kLanes<V>>(v));
}
template <int N>
__forceinline__ Simd<float, N> simdLoad(const half_t* p) {
  return simdFromHalfBits<N>(simdLoad<N>((const u16*)p));
}
template <class V>
__forceinline__ void simdStore(half_t* p, V v) {
  simdStore((u16*)p, simdToHalfBits<kLanes<V>>(v));
}

// The parts go through memory of the task: masked accesses would fault or not as the CPU has it.
template <int N, class T, class F>
__forceinline__ auto simdLoadPart(const T* p, i64 n, F fill) {
  T elements[N];
  __builtin_memset(elements, 0, sizeof elements);
  __builtin_memcpy(elements, p, n * sizeof(T));
  auto v = simdLoad<N>(elements);
  using V = decltype(v);
  using I = LaneOf<MaskOf<V>>;
  MaskOf<V> lane;
  for (int i = 0; i < N; i++) {
    lane[i] = (I)i;
  }
  return lane < (I)n ? v : simdFill<N>((LaneOf<V>)fill);
}
template <class T, class V>
__forceinline__ void simdStorePart(T* p, V v, i64 n) {
  T elements[kLanes<V>];
  simdStore(elements, v);
  __builtin_memcpy(p, elements, n * sizeof(T));
}

template <class T, class V>
__forceinline__ void simdStoreStreaming(T* p, V v) {
  typedef long long Words64 __attribute__((vector_size(64)));
  typedef long long Words32 __attribute__((vector_size(32)));
#if defined(__clang__)
  __builtin_nontemporal_store(v, (V*)p);
  return;
#else
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    __builtin_ia32_movntdq512((Words64*)p, (Words64)v);
    return;
  }
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) {
    __builtin_ia32_movntdq256((Words32*)p, (Words32)v);
    return;
  }
#endif
  simdStore(p, v);
#endif
}
__forceinline__ void simdFence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

// --- arithmetic --------------------------------------------------------------------------------
template <class V>
__forceinline__ V simdMulAdd(V a, V b, V c) {
#if defined(__clang__)
#pragma clang fp contract(fast)
  return a * b + c;
#else
#if defined(__AVX512F__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    return __builtin_ia32_vfmaddps512_mask(a, b, c, (u16)-1, 4);
  }
  if constexpr (__is_same(V, Simd<double, 8>)) {
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, (u8)-1, 4);
  }
#endif
#if defined(__FMA__)
  if constexpr (__is_same(V, Simd<float, 8>)) {
    return __builtin_ia32_vfmaddps256(a, b, c);
  }
  if constexpr (__is_same(V, Simd<double, 4>)) {
    return __builtin_ia32_vfmaddpd256(a, b, c);
  }
  if constexpr (__is_same(V, Simd<float, 4>)) {
    return __builtin_ia32_vfmaddps(a, b, c);
  }
  if constexpr (__is_same(V, Simd<double, 2>)) {
    return __builtin_ia32_vfmaddpd(a, b, c);
  }
#endif
  return a * b + c;
#endif
}
template <class V>
__forceinline__ V simdMulAdd(V a, LaneOf<V> b, V c) {
  return simdMulAdd(a, V{} + b, c);
}
template <class V>
__forceinline__ V simdMulAdd(V a, V b, LaneOf<V> c) {
  return simdMulAdd(a, b, V{} + c);
}
template <class V>
__forceinline__ V simdMulAdd(V a, LaneOf<V> b, LaneOf<V> c) {
  return simdMulAdd(a, V{} + b, V{} + c);
}

// --- minimum and maximum ---------------------------------------------------------------------
template <class V>
__forceinline__ V simdMax(V a, V b) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    return __builtin_ia32_maxps512_mask(a, b, V{}, (u16)-1, 4);
  }
  if constexpr (__is_same(V, Simd<double, 8>)) {
    return __builtin_ia32_maxpd512_mask(a, b, V{}, (u8)-1, 4);
  }
#endif
#if defined(__AVX__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 8>)) {
    return __builtin_ia32_maxps256(a, b);
  }
#endif
  return a > b ? a : b;
}
template <class V>
__forceinline__ V simdMin(V a, V b) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    return __builtin_ia32_minps512_mask(a, b, V{}, (u16)-1, 4);
  }
  if constexpr (__is_same(V, Simd<double, 8>)) {
    return __builtin_ia32_minpd512_mask(a, b, V{}, (u8)-1, 4);
  }
#endif
#if defined(__AVX__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 8>)) {
    return __builtin_ia32_minps256(a, b);
  }
#endif
  return a < b ? a : b;
}
// Equal numbers have equal bits but for zeros, of which -0 is the lesser.
#if defined(__AVX512DQ__) && !defined(__clang__)
// VRANGEPS orders the zeros and takes the number beside a NaN, which comes back by an addition.
#define NVFUSER_RANGE(kind)                                                  \
  if constexpr (__is_same(V, Simd<float, 16>)) {                             \
    return __builtin_ia32_addps512_mask(                                     \
        a, b, __builtin_ia32_rangeps512_mask(a, b, kind, V{}, (u16) - 1, 4), \
        __builtin_ia32_cmpps512_mask(a, b, 3, (u16) - 1, 4), 4);             \
  }
#else
#define NVFUSER_RANGE(kind)
#endif
template <class V>
__forceinline__ V simdMaxNan(V a, V b) {
  NVFUSER_RANGE(5)
  using I = MaskOf<V>;
  V r = a == b ? (V)((I)a & (I)b) : simdMax(a, b);
  return a != a ? a : r;
}
template <class V>
__forceinline__ V simdMinNan(V a, V b) {
  NVFUSER_RANGE(4)
  using I = MaskOf<V>;
  V r = a == b ? (V)((I)a | (I)b) : simdMin(a, b);
  return a != a ? a : r;
}
#undef NVFUSER_RANGE

// --- over the lanes --------------------------------------------------------------------------
/// Half of the lanes with the other half, and so on: `combine` takes vectors.
template <int kHalf = 0, class V, class F>
__forceinline__ LaneOf<V> simdReduce(V v, F combine) {
  constexpr int kFrom = kHalf == 0 ? kLanes<V> : kHalf;
  if constexpr (kFrom == 1) {
    return v[0];
  } else {
    MaskOf<V> from;
    V others;
    for (int i = 0; i < kLanes<V>; i++) {
      from[i] = (i + kFrom / 2) % kLanes<V>;
#if defined(__clang__)
      others[i] = v[(i + kFrom / 2) % kLanes<V>];
#endif
    }
#if !defined(__clang__)
    others = __builtin_shuffle(v, from);  // GCC 12 makes no shuffle of the loop
#endif
    return simdReduce<kFrom / 2>(combine(v, others), combine);
  }
}
template <class V>
__forceinline__ LaneOf<V> simdSum(V v) {
  return simdReduce(v, [](auto a, auto b) __attribute__((always_inline)) { return a + b; });
}
template <class V>
__forceinline__ LaneOf<V> simdProduct(V v) {
  return simdReduce(v, [](auto a, auto b) __attribute__((always_inline)) { return a * b; });
}
template <class V>
__forceinline__ LaneOf<V> simdLargest(V v) {
  return simdReduce(v,
                    [](auto a, auto b) __attribute__((always_inline)) { return simdMaxNan(a, b); });
}
template <class V>
__forceinline__ LaneOf<V> simdLeast(V v) {
  return simdReduce(v,
                    [](auto a, auto b) __attribute__((always_inline)) { return simdMinNan(a, b); });
}

// Whether a comparison is true for any lane.
template <class M>
__forceinline__ bool simdAny(M mask) {
  constexpr bool kWide = sizeof(LaneOf<M>) == 8;
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (sizeof(M) == 64 && kWide) {
    return __builtin_ia32_ptestmq512((Simd<long long, 8>)mask, (Simd<long long, 8>)mask, (u8)-1) !=
           0;
  } else if constexpr (sizeof(M) == 64) {
    return __builtin_ia32_ptestmd512(mask, mask, (u16)-1) != 0;
  }
#endif
#if defined(__AVX__)
  if constexpr (sizeof(M) == 32 && kWide) {
    return __builtin_ia32_movmskpd256((Simd<double, 4>)mask) != 0;
  } else if constexpr (sizeof(M) == 32) {
    return __builtin_ia32_movmskps256((Simd<float, 8>)mask) != 0;
  }
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(M) == 16 && kWide) {
    return __builtin_ia32_movmskpd((Simd<double, 2>)mask) != 0;
  } else if constexpr (sizeof(M) == 16) {
    return __builtin_ia32_movmskps((Simd<float, 4>)mask) != 0;
  }
#endif
  return simdReduce(mask, [](auto a, auto b) __attribute__((always_inline)) { return a | b; }) != 0;
}
