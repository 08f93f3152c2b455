// Operations of integers on vectors whose plain form is wrong for some operands or slow. Each gives
// what its namesake in cpu/math.h gives: shifts by less than 0 or by the width and more move
// everything out, a quotient by 0 is 0, the least number by -1 wraps.
//
//   lanesIntShiftLeft(a, b), lanesIntShiftRight(a, b), lanesIntShiftLogical(a, b)
//                            shiftLeft, shiftRight, shiftRightLogical
//   lanesIntQuotient(a, b)   truncDiv
//   lanesIntRest(a, b)       truncMod
//   lanesIntFloorRest(a, b)  floorMod
//   lanesIntMagnitude(a)     a or -a, wrapping
//   lanesIntClamp(a, b, c)   min(max(a, b), c)
//
// needs: cpu/lanes.h cpu/math.h
template <class V>
constexpr bool kIntIsNarrow = sizeof(LaneOf<V>) < 4;

/// CPUs shift and divide no lanes of 8 and 16 bits: as lanes of 32, and back.
template <class V>
__forceinline__ auto lanesIntWide(V v) {
  if constexpr (kIntIsNarrow<V>) {
    return lanesWiden(v);
  } else {
    return v;
  }
}
template <class V, class W>
__forceinline__ V lanesIntBack(W v) {
  if constexpr (kIntIsNarrow<V>) {
    return lanesNarrow<LaneOf<V>>(v);
  } else {
    return (V)v;
  }
}

/// The distance within what the instruction takes, and whether it moves everything out. Narrow
/// distances that are negative are so as unsigned numbers of 32 bits, too.
template <class V, class F>
__forceinline__ V lanesIntShift(V a, V by, F shifted) {
  const auto wide = lanesIntWide(a);
  using U = LanesUnsigned<decltype(lanesIntWide(a))>;
  constexpr LaneOf<U> kBits = sizeof(LaneOf<V>) * 8, kMask = sizeof(LaneOf<U>) * 8 - 1;
  const U distance = (U)lanesIntWide(by);
  return lanesIntBack<V>(shifted(wide, distance & kMask, distance >= kBits));
}
template <class V>
__forceinline__ V lanesIntShiftLeft(V a, V by) {
  return lanesIntShift(a, by,
                       [](auto x, auto distance, auto is_out) __attribute__((always_inline)) {
                         const auto moved = (decltype(distance))x << distance;
                         return (decltype(x))(is_out ? moved ^ moved : moved);
                       });
}
template <class V>
__forceinline__ V lanesIntShiftRight(V a, V by) {
  return lanesIntShift(a, by,
                       [](auto x, auto distance, auto is_out) __attribute__((always_inline)) {
                         using W = decltype(x);
                         constexpr auto kLast = (LaneOf<W>)(sizeof(LaneOf<W>) * 8 - 1);
                         const W last = x >> (kIsUnsigned<LaneOf<W>> ? LaneOf<W>(0) : kLast);
                         return is_out ? (kIsUnsigned<LaneOf<W>> ? x ^ x : last) : x >> (W)distance;
                       });
}
template <class V>
__forceinline__ V lanesIntShiftLogical(V a, V by) {
  return (V)lanesIntShiftRight((LanesUnsigned<V>)a, (LanesUnsigned<V>)by);
}

/// The quotient of floating-point numbers is never rounded up to the next whole number where it has
/// half as many digits more than the integers: it is at least 1 / b away from it, and a / b times
/// the rounding is less.
template <class W>
__forceinline__ W lanesIntQuotientIn(W x, W y) {
  // (GCC 12 fails on conversions between vectors of which one fills a register and one two.)
  constexpr int kPart = kSimdFloats / 2 < kLanes<W> ? kSimdFloats / 2 : kLanes<W>;
  using D = Simd<double, kPart>;
  using T = LaneOf<W>;
  alignas(sizeof(W)) T a[kLanes<W>], b[kLanes<W>];
  simdStore(a, x);
  simdStore(b, y);
  for (int i = 0; i < kLanes<W>; i += kPart) {
    const D quotient = __builtin_convertvector(simdLoad<kPart>(a + i), D) /
                       __builtin_convertvector(simdLoad<kPart>(b + i), D);
    simdStore(a + i, __builtin_convertvector(quotient, Simd<T, kPart>));
  }
  return simdLoad<kLanes<W>>(a);
}
template <class V>
__forceinline__ V lanesIntQuotient(V a, V b) {
  if constexpr (sizeof(LaneOf<V>) == 8) {
    return lanesMade<V>([&](int e) __attribute__((always_inline)) { return truncDiv(a[e], b[e]); });
  } else {
    const auto x = lanesIntWide(a), y = lanesIntWide(b);
    using W = decltype(lanesIntWide(a));
    constexpr bool kIsSigned = !kIsUnsigned<LaneOf<W>>;
    const W one = W{} + 1;
    const auto is_zero = y == 0;
    const auto turns = kIsSigned ? y == (LaneOf<W>)-1 : y != y;
    const W divisor = is_zero | turns ? one : y;
    W whole;
    if constexpr (kIntIsNarrow<V>) {
      using F = Simd<float, kLanes<V>>;
      whole = __builtin_convertvector(
          __builtin_convertvector(x, F) / __builtin_convertvector(divisor, F), W);
    } else {
      whole = lanesIntQuotientIn(x, divisor);
    }
    return lanesIntBack<V>(is_zero ? W{} : turns ? lanesSub(W{}, x) : whole);
  }
}
template <class V>
__forceinline__ V lanesIntRest(V a, V b) {
  if constexpr (sizeof(LaneOf<V>) == 8) {
    return lanesMade<V>([&](int e) __attribute__((always_inline)) { return truncMod(a[e], b[e]); });
  } else {
    const V rest = lanesSub(a, lanesMul(lanesIntQuotient(a, b), b));
    return b == 0 ? V{} : rest;
  }
}
template <class V>
__forceinline__ V lanesIntFloorRest(V a, V b) {
  const V rest = lanesIntRest(a, b);
  if constexpr (kIsUnsigned<LaneOf<V>>) {
    return rest;
  } else {
    return (rest != 0) & ((rest ^ b) < 0) ? lanesAdd(rest, b) : rest;
  }
}

template <class V>
__forceinline__ V lanesIntMagnitude(V a) {
  if constexpr (kIsUnsigned<LaneOf<V>>) {
    return a;
  } else {
    return a < 0 ? lanesSub(V{}, a) : a;
  }
}
template <class V>
__forceinline__ V lanesIntClamp(V a, V least, V most) {
  const V above = a > least ? a : least;
  return above < most ? above : most;
}
