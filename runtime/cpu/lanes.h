// What generated loops over lanes consist of: one iteration works on N neighbouring elements, each
// value of the scalar program is a vector of them. In the last iteration only `n` lanes count.
//
//   dtype                         lanes
//   float, double, integers       Simd<T, N>
//   half_t, bf16_t                Simd<u16, N>, their bits: arithmetic converts first
//   bool                          0 or -1 in lanes of up to 4 bytes, of which a register has N
//
//   lanesRead<N>(p, n)            elements p[0], …; what is beyond n is not touched, and 0
//   lanesWrite(p, v, n)           the first n lanes; lanesStream: past the caches where p allows
//   lanesWindow<N>(p, i, a, b, v) p[i + e] for a <= e < b, else lane e of v (no address made)
//   lanesBelow<N>(i, b)           i + e < b, as lanes of bool; lanesUpTo: i + e <= b
//   lanesMade<V>(f)               f(0), f(1), …, put together in registers
//   lanesEach<N, T>(n, f)         f(0), …, f(n - 1), as T's lanes (f gives elements)
//   lanesSpread(v, n, f)          f(e, lane e) for the first n
//   lanesKeep(v, other, n)        v in the first n lanes, `other` in the rest
//   lanesConvert<T>(v)            C's conversion of each lane
//   lanesFill<T, N>(x)            all lanes the element x
//   lanesTruth(mask)              what a comparison gave, as lanes of bool
//   lanesSelect(truth, a, b)      a where truth is, else b
//   lanesAdd, lanesSub, lanesMul  of integers, wrapping
//   lanesFetch<to_write>(p)       asks for the line at p, which need not be memory; to read, it
//   comes
//                                 as near as L2, whose requests wait for no load
//
// needs: cpu/simd.h
template <class T>
struct LaneFor {
  typedef T lane;  ///< in a register
  typedef T bits;  ///< in memory
};
template <>
struct LaneFor<bool> {
  typedef i32 lane;
  typedef u8 bits;
};
template <>
struct LaneFor<half_t> {
  typedef u16 lane;
  typedef u16 bits;
};
template <>
struct LaneFor<bf16_t> {
  typedef u16 lane;
  typedef u16 bits;
};
/// Of truth values: as wide as those of the numbers that so many lanes are for.
template <int kBytes>
struct TruthLane {
  typedef i32 type;
};
template <>
struct TruthLane<2> {
  typedef i16 type;
};
template <>
struct TruthLane<1> {
  typedef i8 type;
};
template <class T, int N>
struct LaneOfMany {
  typedef typename LaneFor<T>::lane type;
};
template <int N>
struct LaneOfMany<bool, N> {
  typedef typename TruthLane<(N > 2 * kSimdFloats ? 1 : N > kSimdFloats ? 2 : 4)>::type type;
};
template <class T, int N>
using Lanes = Simd<typename LaneOfMany<T, N>::type, N>;

// What is stored element by element and loaded as one vector waits until the stores have left the
// CPU's buffer, and a loop over elements is not unrolled at -O2: 3 times as long as this.
template <int... kNumbers>
struct LaneNumbers {};
#if defined(__clang__)
template <class T, T... kNumbers>
using LaneNumbersOf = LaneNumbers<kNumbers...>;
template <int N>
using LaneNumbersBelow = __make_integer_seq<LaneNumbersOf, int, N>;
#else
template <int N>
using LaneNumbersBelow = LaneNumbers<__integer_pack(N)...>;
#endif
template <class V, class F, int... kNumbers>
__forceinline__ V lanesMadeOf(F f, LaneNumbers<kNumbers...>) {
  return V{(LaneOf<V>)f(kNumbers)...};
}
template <class V, class F>
__forceinline__ V lanesMade(F f) {
  return lanesMadeOf<V>(f, LaneNumbersBelow<kLanes<V>>());
}

/// Integers as those of another size. (GCC 12 converts lanes of one size one by one.)
template <class To, class V>
__forceinline__ To lanesResized(V v) {
  if constexpr (sizeof(V) == sizeof(To)) {
    return (To)v;
  } else {
    return __builtin_convertvector(v, To);
  }
}

/// 8-bit and 16-bit integers as 32-bit ones. (GCC 12 converts them one by one.)
template <class V>
__forceinline__ Simd<i32, kLanes<V>> lanesWiden(V v) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (kLanes<V> == 16) {
    if constexpr (__is_same(LaneOf<V>, u8)) {
      return __builtin_ia32_pmovzxbd512_mask((Simd<char, 16>)v, Simd<i32, 16>{}, (u16)-1);
    } else if constexpr (__is_same(LaneOf<V>, i8)) {
      return __builtin_ia32_pmovsxbd512_mask((Simd<char, 16>)v, Simd<i32, 16>{}, (u16)-1);
    } else if constexpr (__is_same(LaneOf<V>, u16)) {
      return __builtin_ia32_pmovzxwd512_mask((Simd<i16, 16>)v, Simd<i32, 16>{}, (u16)-1);
    } else if constexpr (__is_same(LaneOf<V>, i16)) {
      return __builtin_ia32_pmovsxwd512_mask((Simd<i16, 16>)v, Simd<i32, 16>{}, (u16)-1);
    }
  }
#endif
#if defined(__AVX2__) && !defined(__clang__)
  if constexpr (kLanes<V> == 8) {
    if constexpr (sizeof(V) == 8) {
      Simd<char, 16> low = (Simd<char, 16>)(Simd<i64, 2>){bitCast<i64>(v), 0};
      return __is_same(LaneOf<V>, u8) ? (Simd<i32, 8>)__builtin_ia32_pmovzxbd256(low)
                                      : (Simd<i32, 8>)__builtin_ia32_pmovsxbd256(low);
    } else if constexpr (__is_same(LaneOf<V>, u16)) {
      return __builtin_ia32_pmovzxwd256((Simd<i16, 8>)v);
    } else if constexpr (__is_same(LaneOf<V>, i16)) {
      return __builtin_ia32_pmovsxwd256((Simd<i16, 8>)v);
    }
  }
#endif
  return __builtin_convertvector(v, Simd<i32, kLanes<V>>);
}

/// The low bits of 32-bit integers, as 8-bit or 16-bit ones. (GCC 12 takes bytes one by one.)
template <class T, class V>
__forceinline__ Simd<T, kLanes<V>> lanesNarrow(V v) {
#if defined(__AVX2__) && !defined(__AVX512VL__) && !defined(__clang__)
  if constexpr (kLanes<V> == 8 && sizeof(T) == 1) {
    const Simd<char, 32> low = {0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    const auto words = (Simd<u32, 8>)__builtin_ia32_pshufb256((Simd<char, 32>)v, low);
    return bitCast<Simd<T, 8>>((u64)words[4] << 32 | words[0]);
  }
#endif
  return __builtin_convertvector(v, Simd<T, kLanes<V>>);
}

template <class T, int N>
__forceinline__ Lanes<T, N> lanesFromBits(Simd<typename LaneFor<T>::bits, N> bits) {
  if constexpr (!__is_same(T, bool)) {
    return bits;
  } else if constexpr (sizeof(LaneOf<Lanes<T, N>>) == 4) {
    return lanesWiden(bits != 0);
  } else {
    return lanesResized<Lanes<T, N>>(bits != 0);
  }
}
template <class T, int N>
__forceinline__ Simd<typename LaneFor<T>::bits, N> lanesToBits(Lanes<T, N> v) {
  if constexpr (!__is_same(T, bool)) {
    return v;
  } else if constexpr (sizeof(LaneOf<Lanes<T, N>>) == 4) {
    return lanesNarrow<u8>(v & 1);
  } else {
    return lanesResized<Simd<u8, N>>(v & 1);
  }
}

template <int N, class B>
__attribute__((noinline, cold)) static Simd<B, N> lanesReadEach(const B* p, i64 n) {
  B elements[N] = {};
  for (i64 i = 0; i < n; i++) {
    elements[i] = p[i];
  }
  return *(const typename SimdOf<B, N>::anywhere*)elements;
}
template <int N, class B>
__attribute__((noinline, cold)) static void lanesWriteEach(B* p, Simd<B, N> v, i64 n) {
  for (i64 i = 0; i < n; i++) {
    p[i] = v[i];
  }
}
// Of 0 < n < N elements. Where the CPU has masks for them (AVX-512; AVX2 for lanes of 32 and 64
// bits), an access does not fault in lanes that are left out.
#if defined(__AVX512BW__) && defined(__AVX512VL__) && !defined(__clang__)
#define NVFUSER_MASKS(of)                                                        \
  of(4, 16, float, u16, ups512_mask) of(4, 8, float, u8, ups256_mask)            \
      of(4, 4, float, u8, ups128_mask) of(8, 8, double, u8, upd512_mask)         \
          of(8, 4, double, u8, upd256_mask) of(2, 16, short, u16, dquhi256_mask) \
              of(2, 8, short, u8, dquhi128_mask) of(1, 16, char, u16, dquqi128_mask)
#else
#define NVFUSER_MASKS(of)
#endif
#if defined(__AVX2__) && !defined(__AVX512VL__) && !defined(__clang__)
#define NVFUSER_SIGNS(of)                                                                 \
  of(4, 8, float, i32, ps256) of(4, 4, float, i32, ps) of(8, 4, double, long long, pd256) \
      of(8, 2, double, long long, pd)
// The first n lanes negative, which is what such an access looks at.
template <int N, class I>
__forceinline__ Simd<I, N> lanesSigns(i64 n) {
  Simd<I, N> place;
  for (int e = 0; e < N; e++) {
    place[e] = e;
  }
  return place < (I)n;
}
#else
#define NVFUSER_SIGNS(of)
#endif
template <int N, class B>
__forceinline__ Simd<B, N> lanesReadPart(const B* p, i64 n) {
#define NVFUSER_READ(bytes, lanes, lane, mask, name)                                  \
  if constexpr (sizeof(B) == bytes && N == lanes) {                                   \
    return (Simd<B, N>)__builtin_ia32_load##name((const lane*)p, Simd<lane, lanes>{}, \
                                                 (mask)((u64(1) << n) - 1));          \
  }
  NVFUSER_MASKS(NVFUSER_READ)
#undef NVFUSER_READ
#define NVFUSER_READ(bytes, lanes, lane, sign, name)                              \
  if constexpr (sizeof(B) == bytes && N == lanes) {                               \
    return (Simd<B, N>)__builtin_ia32_maskload##name((const Simd<lane, lanes>*)p, \
                                                     lanesSigns<lanes, sign>(n)); \
  }
  NVFUSER_SIGNS(NVFUSER_READ)
#undef NVFUSER_READ
  return lanesReadEach<N>(p, n);
}
template <int N, class B>
__forceinline__ void lanesWritePart(B* p, Simd<B, N> v, i64 n) {
#define NVFUSER_WRITE(bytes, lanes, lane, mask, name)                                             \
  if constexpr (sizeof(B) == bytes && N == lanes) {                                               \
    return __builtin_ia32_store##name((lane*)p, (Simd<lane, lanes>)v, (mask)((u64(1) << n) - 1)); \
  }
  NVFUSER_MASKS(NVFUSER_WRITE)
#undef NVFUSER_WRITE
#define NVFUSER_WRITE(bytes, lanes, lane, sign, name)                                        \
  if constexpr (sizeof(B) == bytes && N == lanes) {                                          \
    return __builtin_ia32_maskstore##name((Simd<lane, lanes>*)p, lanesSigns<lanes, sign>(n), \
                                          (Simd<lane, lanes>)v);                             \
  }
  NVFUSER_SIGNS(NVFUSER_WRITE)
#undef NVFUSER_WRITE
  lanesWriteEach<N>(p, v, n);
}

template <int N, class T>
__forceinline__ Lanes<T, N> lanesRead(const T* p, i64 n) {
  using B = typename LaneFor<T>::bits;
  if (__builtin_expect(n >= N, 1)) {
    return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)p);
  }
  return lanesFromBits<T, N>(lanesReadPart<N, B>((const B*)p, n));
}
template <class T, class V>
__forceinline__ void lanesWrite(T* p, V v, i64 n) {
  using B = typename LaneFor<T>::bits;
  constexpr int N = kLanes<V>;
  Simd<B, N> bits = lanesToBits<T, N>(v);
  if (__builtin_expect(n >= N, 1)) {
    *(typename SimdOf<B, N>::anywhere*)p = bits;
  } else {
    lanesWritePart<N, B>((B*)p, bits, n);
  }
}

template <int N, class B>
__attribute__((noinline, cold)) static Simd<B, N> lanesWindowEach(const B* p, i64 first, i64 end,
                                                                  Simd<B, N> otherwise) {
  for (i64 e = first > 0 ? first : 0; e < end && e < N; e++) {
    otherwise[e] = p[e];
  }
  return otherwise;
}
// A row of an image has an edge every few vectors, so that these count.
template <int N, class B>
__forceinline__ Simd<B, N> lanesWindowPart(const B* p, i64 first, i64 end, Simd<B, N> otherwise) {
#define NVFUSER_WINDOW(bytes, lanes, lane, mask, name)                                         \
  if constexpr (sizeof(B) == bytes && N == lanes) {                                            \
    u64 below = (u64(1) << (end < N ? end : N)) - 1;                                           \
    u64 from = ~u64(0) << (first > 0 ? first : 0);                                             \
    return (Simd<B, N>)__builtin_ia32_load##name((const lane*)p, (Simd<lane, lanes>)otherwise, \
                                                 (mask)(below & from));                        \
  }
  NVFUSER_MASKS(NVFUSER_WINDOW)
#undef NVFUSER_WINDOW
#define NVFUSER_WINDOW(bytes, lanes, lane, sign, name)                                        \
  if constexpr (sizeof(B) == bytes && N == lanes) {                                           \
    const auto mine = lanesSigns<lanes, sign>(end < N ? end : N) &                            \
                      ~lanesSigns<lanes, sign>(first > 0 ? first : 0);                        \
    const auto read = __builtin_ia32_maskload##name((const Simd<lane, lanes>*)p, mine);       \
    using Bits = Simd<sign, lanes>;                                                           \
    return (Simd<B, N>)((Bits)read | (~mine & (Bits)otherwise)); /* read: 0 where not mine */ \
  }
  NVFUSER_SIGNS(NVFUSER_WINDOW)
#undef NVFUSER_WINDOW
  return lanesWindowEach<N, B>(p, first, end, otherwise);
}
template <int N, class T>
__forceinline__ Lanes<T, N> lanesWindow(const T* p, i64 i, i64 first, i64 end,
                                        Lanes<T, N> otherwise) {
  using B = typename LaneFor<T>::bits;
  if (first <= 0 && end >= N) {
    return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)(p + i));
  }
  if (first >= N || end <= 0) {
    return otherwise;
  }
  return lanesFromBits<T, N>(
      lanesWindowPart<N, B>((const B*)(p + i), first, end, lanesToBits<T, N>(otherwise)));
}

template <bool kToWrite, class T>
__forceinline__ void lanesFetch(const T* p) {
  __builtin_prefetch(p, kToWrite ? 1 : 0, kToWrite ? 3 : 2);
}

template <int N>
__forceinline__ Lanes<bool, N> lanesFirst(u64 n) {
  using I = LaneOf<Lanes<bool, N>>;
  Lanes<bool, N> lane;
  for (int e = 0; e < N; e++) {
    lane[e] = (I)e;
  }
  return lane < (I)(n < N ? n : N);
}
template <int N>
__forceinline__ Lanes<bool, N> lanesBelow(i64 place, i64 bound) {
  return lanesFirst<N>(place < bound ? (u64)bound - (u64)place : 0);
}
template <int N>
__forceinline__ Lanes<bool, N> lanesUpTo(i64 place, i64 bound) {
  u64 distance = (u64)bound - (u64)place;
  return lanesFirst<N>(place > bound ? 0 : distance < N ? distance + 1 : N);
}

template <class T, class V>
__forceinline__ void lanesStream(T* p, V v, i64 n) {
  using B = typename LaneFor<T>::bits;
  constexpr int N = kLanes<V>;
  if (__builtin_expect(n >= N && (u64)p % (sizeof(B) * N) == 0, 1)) {
    simdStoreStreaming((B*)p, lanesToBits<T, N>(v));
  } else {
    lanesWrite(p, v, n);
  }
}

/// One lane from an element.
template <class T>
__forceinline__ typename LaneFor<T>::lane lanesOne(T x) {
  if constexpr (__is_same(T, bool)) {
    return -(i32)(bitCast<u8>(x) != 0);  // also of other bits than 0 and 1
  } else if constexpr (__is_same(T, typename LaneFor<T>::lane)) {
    return x;
  } else {
    return x.bits;
  }
}
template <class T, int N>
__forceinline__ Lanes<T, N> lanesFill(T x) {
  return simdFill<N>((LaneOf<Lanes<T, N>>)lanesOne(x));
}
/// first, first + step, …
template <int N, class T = i64>
__forceinline__ Simd<T, N> lanesFrom(i64 first, i64 step) {
  Simd<T, N> lane;
  for (int e = 0; e < N; e++) {
    lane[e] = (T)e;
  }
  return lane * (T)step + (T)first;
}
template <int N, class T, class F>
__forceinline__ Lanes<T, N> lanesEach(i64 n, F f) {
  if (__builtin_expect(n >= N, 1)) {
    return lanesMade<Lanes<T, N>>([&](int e)
                                      __attribute__((always_inline)) { return lanesOne<T>(f(e)); });
  }
  using L = LaneOf<Lanes<T, N>>;
  L elements[N] = {};
#pragma GCC unroll 1
  for (int e = 0; e < n; e++) {
    elements[e] = (L)lanesOne<T>(f(e));
  }
  return *(const typename SimdOf<L, N>::anywhere*)elements;
}
template <class V, class F>
__forceinline__ void lanesSpread(V v, i64 n, F f) {
  LaneOf<V> elements[kLanes<V>];
  *(typename SimdOf<LaneOf<V>, kLanes<V>>::anywhere*)elements = v;
  if (__builtin_expect(n >= kLanes<V>, 1)) {  // n is what is left of the loop: often more
#pragma GCC unroll 16
    for (int e = 0; e < kLanes<V>; e++) {
      f(e, elements[e]);
    }
    return;
  }
#pragma GCC unroll 1
  for (int e = 0; e < n; e++) {
    f(e, elements[e]);
  }
}
template <class V>
__forceinline__ V lanesKeep(V v, V other, i64 n) {
  if (__builtin_expect(n >= kLanes<V>, 1)) {
    return v;
  }
  using I = LaneOf<MaskOf<V>>;
  MaskOf<V> lane;
  for (int e = 0; e < kLanes<V>; e++) {
    lane[e] = (I)e;
  }
  return lane < (I)n ? v : other;
}

template <class T, class V>
__forceinline__ Simd<T, kLanes<V>> lanesConvert(V v) {
  using From = LaneOf<V>;
  if constexpr (sizeof(From) < 4 && sizeof(T) >= 4) {
    return __builtin_convertvector(lanesWiden(v), Simd<T, kLanes<V>>);
  } else if constexpr (sizeof(From) == 4 && sizeof(T) == 1) {
    return lanesNarrow<T>(__builtin_convertvector(v, Simd<i32, kLanes<V>>));
  } else {
    return __builtin_convertvector(v, Simd<T, kLanes<V>>);
  }
}
template <class M>
__forceinline__ Lanes<bool, kLanes<M>> lanesTruth(M mask) {
  return lanesResized<Lanes<bool, kLanes<M>>>(mask);
}
template <class V>
__forceinline__ V lanesSelect(Lanes<bool, kLanes<V>> truth, V a, V b) {
  return lanesResized<MaskOf<V>>(truth) ? a : b;
}

template <int kBytes>
struct LaneUnsigned;
template <>
struct LaneUnsigned<1> {
  typedef u8 type;
};
template <>
struct LaneUnsigned<2> {
  typedef u16 type;
};
template <>
struct LaneUnsigned<4> {
  typedef u32 type;
};
template <>
struct LaneUnsigned<8> {
  typedef u64 type;
};
template <class V>
using LanesUnsigned = Simd<typename LaneUnsigned<sizeof(LaneOf<V>)>::type, kLanes<V>>;

template <class V>
__forceinline__ V lanesAdd(V a, V b) {
  return (V)((LanesUnsigned<V>)a + (LanesUnsigned<V>)b);
}
template <class V>
__forceinline__ V lanesSub(V a, V b) {
  return (V)((LanesUnsigned<V>)a - (LanesUnsigned<V>)b);
}
template <class V>
__forceinline__ V lanesMul(V a, V b) {
  return (V)((LanesUnsigned<V>)a * (LanesUnsigned<V>)b);
}
template <class V>
__forceinline__ V lanesAbs(V x) {
  using U = LanesUnsigned<V>;
  return (V)((U)x & ((U){} - 1) >> 1);
}
template <class V>
__forceinline__ MaskOf<V> lanesSignbit(V x) {
  return (MaskOf<V>)x < 0;
}
// (0 of NaN.)
template <class V>
__forceinline__ V lanesSign(V x) {
  const V one = V{} + 1;
  return x > 0 ? one : x < 0 ? -one : V{};
}
template <class V>
__forceinline__ V lanesRelu(V x) {
  return x <= V{} ? V{} : x;
}
/// As lerp of math.h: PyTorch's formula, exact at both ends.
template <class V>
__forceinline__ V lanesLerp(V start, V end, V weight) {
  const V span = end - start;
  return lanesAbs(weight) < LaneOf<V>(0.5) ? start + weight * span
                                           : end - span * (LaneOf<V>(1) - weight);
}
