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
// Numbers of 2^23 (2^52) and more, infinities and NaN are there already.
template <class V>
__forceinline__ V lanesUnlessWhole(V x, V whole) {
  return lanesAbs(x) < kAllWhole<V> ? lanesSigned(whole, x) : x;
}

// The nearest, by the rounding of a sum that has no digits for less than 1.
template <class V>
__forceinline__ V lanesRounded(V x) {
  const V shift = lanesSigned(V{} + kAllWhole<V>, x);
  return x + shift - shift;
}
template <class V>
__forceinline__ V lanesWholeNearest(V x) {
  return lanesUnlessWhole(x, lanesRounded(x));
}
template <class V>
__forceinline__ V lanesWholeBelow(V x) {
  const V near = lanesRounded(x);
  return lanesUnlessWhole(x, near > x ? near - 1 : near);
}
template <class V>
__forceinline__ V lanesWholeAbove(V x) {
  const V near = lanesRounded(x);
  return lanesUnlessWhole(x, near < x ? near + 1 : near);
}
template <class V>
__forceinline__ V lanesWholeInside(V x) {
  const V size = lanesAbs(x);
  const V near = lanesRounded(size);
  return lanesUnlessWhole(x, near > size ? near - 1 : near);
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

template <class T, class V>
__forceinline__ Simd<T, kLanes<V>> lanesWholeOf(V x) {
  if constexpr (sizeof(T) < 4) {
    return __builtin_convertvector(lanesWholeOf<i32>(x), Simd<T, kLanes<V>>);
  } else {
    static_assert(T(-1) < T(0), "unsigned integers are cut one by one");
    using I = Simd<T, kLanes<V>>;
    constexpr T kMost = (T)(~(u64)0 >> (65 - sizeof(T) * 8));
    constexpr LaneOf<V> kEnd = (LaneOf<V>)((u64)1 << (sizeof(T) * 8 - 2)) * 2;
    const MaskOf<V> fits = (x >= -kEnd) & (x < kEnd);
    const I inside = __builtin_convertvector(fits ? x : V{}, I);
    const I beyond = __builtin_convertvector(x > 0, I) & kMost;
    const I before = __builtin_convertvector(x < 0, I) & (T)(-kMost - 1);
    return __builtin_convertvector(fits, I) ? inside : beyond | before;
  }
}
