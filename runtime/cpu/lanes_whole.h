// Whole numbers near those of a vector, and the way to integers. V is a vector of float or double.
//
//   lanesWholeBelow(x), lanesWholeAbove(x), lanesWholeInside(x), lanesWholeNearest(x)
//                            floor, ceil, trunc, rint: to the last bit and the sign of zero
//   lanesWholeCut(a, b)      fmod(a, b)
//   lanesWholeRest(a, b)     floorMod(a, b) of cpu/math.h
//   lanesWholeOf<T>(x)       toInteger<T>(x) of cpu/math.h: the nearest end beyond the range, NaN 0
//
// needs: cpu/lanes.h cpu/math.h
template <class V>
constexpr LaneOf<V> kAllWhole = sizeof(LaneOf<V>) == 4 ? 8388608.0 : 4503599627370496.0;

template <class V>
__forceinline__ V lanesSigned(V magnitude, V sign) {
  using U = LanesUnsigned<V>;
  constexpr LaneOf<U> kRest = ~(LaneOf<U>)0 >> 1;
  return (V)(((U)magnitude & kRest) | ((U)sign & ~kRest));
}
// The nearest, by the rounding of a sum that has no digits for less than 1.
template <class V>
__forceinline__ V lanesRounded(V x) {
  const V shift = lanesSigned(V{} + kAllWhole<V>, x);
  return x + shift - shift;
}
// Where the CPU has an instruction for it (kMode: 0 nearest, 1 down, 2 up, 3 to zero), that; else
// by sums. Numbers of 2^23 (2^52) and more, infinities and NaN are there already.
template <int kMode, class V>
__forceinline__ V lanesWhole(V x) {
#if !defined(__clang__)
  constexpr int kQuiet = 8 + kMode;
#if defined(__AVX512F__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    return __builtin_ia32_rndscaleps_mask(x, kQuiet, x, (u16)-1, 4);
  }
  if constexpr (__is_same(V, Simd<double, 8>)) {
    return __builtin_ia32_rndscalepd_mask(x, kQuiet, x, (u8)-1, 4);
  }
#endif
#if defined(__AVX__)
  if constexpr (__is_same(V, Simd<float, 8>)) {
    return __builtin_ia32_roundps256(x, kQuiet);
  }
  if constexpr (__is_same(V, Simd<double, 4>)) {
    return __builtin_ia32_roundpd256(x, kQuiet);
  }
#endif
#if defined(__SSE4_1__)
  if constexpr (__is_same(V, Simd<float, 4>)) {
    return __builtin_ia32_roundps(x, kQuiet);
  }
  if constexpr (__is_same(V, Simd<double, 2>)) {
    return __builtin_ia32_roundpd(x, kQuiet);
  }
#endif
#endif
  const V size = kMode == 3 ? lanesAbs(x) : x;
  V whole = lanesRounded(size);
  if constexpr (kMode == 1 || kMode == 3) {
    whole = whole > size ? whole - 1 : whole;
  } else if constexpr (kMode == 2) {
    whole = whole < size ? whole + 1 : whole;
  }
  return lanesAbs(x) < kAllWhole<V> ? lanesSigned(whole, x) : x;
}
template <class V>
__forceinline__ V lanesWholeNearest(V x) {
  return lanesWhole<0>(x);
}
template <class V>
__forceinline__ V lanesWholeBelow(V x) {
  return lanesWhole<1>(x);
}
template <class V>
__forceinline__ V lanesWholeAbove(V x) {
  return lanesWhole<2>(x);
}
template <class V>
__forceinline__ V lanesWholeInside(V x) {
  return lanesWhole<3>(x);
}

// r = a − trunc(a / b) · b is exact in one multiply-add where the quotient is a whole number of
// the lanes: rounded up to the next one, it leaves r < 0, to which b goes back.
template <class V>
__forceinline__ V lanesWholeCut(V a, V b) {
#if defined(__FMA__)
  const V by = lanesAbs(b);
  const V size = lanesAbs(a);
  const V quotient = size / by;
  const MaskOf<V> fits = (quotient < kAllWhole<V>)&(by < (LaneOf<V>)__builtin_inff());
  bool all = true;
  for (int e = 0; e < kLanes<V>; e++) {
    all &= fits[e] != 0;
  }
  if (__builtin_expect(all, 1)) {
    const V rest = simdMulAdd(-lanesWholeInside(quotient), by, size);
    return lanesSigned(rest < 0 ? rest + by : rest, a);
  }
#endif
  V result;
  for (int e = 0; e < kLanes<V>; e++) {
    result[e] = (LaneOf<V>)(sizeof(LaneOf<V>) == 8 ? __builtin_fmod(a[e], b[e])
                                                   : __builtin_fmodf(a[e], b[e]));
  }
  return result;
}
template <class V>
__forceinline__ V lanesWholeRest(V a, V b) {
  const V rest = lanesWholeCut(a, b);
  return (rest != 0) & ((rest < 0) != (b < 0)) ? rest + b : rest;
}

// What the CPU's instruction gives beyond the range is its least number, as for NaN.
template <class T, class V>
__forceinline__ Simd<T, kLanes<V>> lanesCut(V x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 16>) && sizeof(T) == 4) {
    return __builtin_ia32_cvttps2dq512_mask(x, Simd<i32, 16>{}, (u16)-1, 4);
  }
#endif
#if defined(__AVX__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 8>) && sizeof(T) == 4) {
    return __builtin_ia32_cvttps2dq256(x);
  }
#endif
#if defined(__AVX512DQ__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 8>) && sizeof(T) == 8) {
    return (Simd<T, 8>)__builtin_ia32_cvttps2qq512_mask(x, (Simd<long long, 8>){}, (u8)-1, 4);
  }
  if constexpr (__is_same(V, Simd<double, 8>) && sizeof(T) == 8) {
    return (Simd<T, 8>)__builtin_ia32_cvttpd2qq512_mask(x, (Simd<long long, 8>){}, (u8)-1, 4);
  }
#endif
  constexpr LaneOf<V> kEnd = (LaneOf<V>)((u64)1 << (sizeof(T) * 8 - 2)) * 2;
  const MaskOf<V> fits = (x >= -kEnd) & (x < kEnd);
  using I = Simd<T, kLanes<V>>;
  constexpr T kLeast = (T)((u64)1 << (sizeof(T) * 8 - 1));
  return __builtin_convertvector(fits, I) ? __builtin_convertvector(fits ? x : V{}, I)
                                          : I{} + kLeast;
}
template <class T, class V>
__forceinline__ Simd<T, kLanes<V>> lanesWholeOf(V x) {
  if constexpr (sizeof(T) < 4) {
    return lanesNarrow<T>(lanesWholeOf<i32>(x));
  } else {
    static_assert(T(-1) < T(0), "unsigned integers are cut one by one");
    using I = Simd<T, kLanes<V>>;
    constexpr T kMost = (T)(~(u64)0 >> (65 - sizeof(T) * 8));
    constexpr LaneOf<V> kEnd = (LaneOf<V>)((u64)1 << (sizeof(T) * 8 - 2)) * 2;
    const I cut = lanesCut<T>(x);
    const I above = __builtin_convertvector(x >= kEnd, I) ? I{} + kMost : cut;
    return __builtin_convertvector(x == x, I) ? above : I{};
  }
}
