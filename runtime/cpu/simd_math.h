// Elementary functions of vectors of float or double, any number of lanes.
//
//   function             largest error     over
//   simdExp, simdExp2    1 ulp             all numbers; to infinity and, through subnormals, to 0
//   simdLog              1 ulp             all numbers; subnormals too, -inf at 0, NaN below
//   simdLog2, simdLog10  2 ulp             all numbers
//   simdExpm1, simdLog1p 2 ulp             all numbers
//   simdTanh             2.5 ulp           all numbers
//   simdSigmoid          2.5 ulp           where the result is normal
//   simdSqrt, simdRsqrt  0.5, 1.5 ulp      all numbers
//
// (Without FMA 1.1 instead of 1; `tests/numerics/cpu_functions.cpp` holds them to it.) NaN in,
// NaN out. Fast ones of float, for results that are rounded to bfloat16: simdExpFast 1e-5,
// simdReciprocalFast and simdRsqrtFast 6e-5, simdSigmoidFast, simdTanhFast 1e-4 relative,
// simdDivideFast 2 ulp.
//
// Coefficients of float: minimax fits of our own (weighted least squares, reweighted to equal
// ripple); of double, and in files that need this one: interpolation at Chebyshev's points. ln 2 in
// two parts and the logarithm by s = f / (2 + f) are those of fdlibm (Sun Microsystems, e_log.c).
//
// needs: cpu/simd.h

// Horner's rule as one expression: GCC 12 leaves a loop over so many coefficients a loop at -O2,
// with the coefficients on the stack.
template <int I = 0, class V, class T, int N>
__forceinline__ V simdPolynomial(V x, const T (&c)[N]) {
  if constexpr (I == N - 1) {
    return V{} + (LaneOf<V>)c[I];
  } else {
    return simdMulAdd(simdPolynomial<I + 1>(x, c), x, (LaneOf<V>)c[I]);
  }
}

// What a number of the lanes consists of.
template <class V>
constexpr bool kSimdDouble = sizeof(LaneOf<V>) == 8;
template <class V>
constexpr int kSimdDigits = kSimdDouble<V> ? 52 : 23;
template <class V>
constexpr int kSimdBias = kSimdDouble<V> ? 1023 : 127;
template <class V>
constexpr LaneOf<MaskOf<V>> kSimdMagnitude = ~((LaneOf<MaskOf<V>>)1 << (sizeof(LaneOf<V>) * 8 - 1));
template <class V>
constexpr LaneOf<V> kSimdLeast = kSimdDouble<V> ? 0x1p-1022 : 0x1p-126;  ///< normal number
template <class V>
constexpr LaneOf<V> kSimdInfinity = (LaneOf<V>)__builtin_inf();
template <class V>
constexpr LaneOf<V> kSimdNan = (LaneOf<V>)__builtin_nan("");

template <class V>
__forceinline__ V simdAbs(V x) {
  using I = MaskOf<V>;
  return (V)((I)x & kSimdMagnitude<V>);
}
template <class V>
__forceinline__ V simdCopySign(V magnitude, V sign) {
  using I = MaskOf<V>;
  return (V)(((I)magnitude & kSimdMagnitude<V>) | ((I)sign & ~kSimdMagnitude<V>));
}

// x = n + f with |f| <= 1/2: adding 1.5 * 2^23 (2^52) leaves n in the low bits.
template <class V>
constexpr LaneOf<V> kSimdRound = kSimdDouble<V> ? 6755399441055744.0 : 12582912.0;
template <class V>
__forceinline__ MaskOf<V> simdWhole(V shifted) {
  return (MaskOf<V>)shifted - (MaskOf<V>)(V{} + kSimdRound<V>);
}
/// 2^n of a normal number.
template <class V>
__forceinline__ V simdPowerOfTwo(MaskOf<V> n) {
  return (V)((n + kSimdBias<V>) << kSimdDigits<V>);
}

// p * 2^n for shifted = n + kSimdRound, n in [-252, 254] ([-2044, 2046]); the result may be
// subnormal or infinite.
template <class V>
__forceinline__ V simdScale(V p, V shifted) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    return __builtin_ia32_scalefps512_mask(p, shifted - kSimdRound<V>, V{}, (u16)-1, 4);
  } else if constexpr (__is_same(V, Simd<double, 8>)) {
    return __builtin_ia32_scalefpd512_mask(p, shifted - kSimdRound<V>, V{}, (u8)-1, 4);
  }
#endif
  const MaskOf<V> n = simdWhole(shifted), first = n >> 1;
  return p * simdPowerOfTwo<V>(first) * simdPowerOfTwo<V>(n - first);
}
// The same, but 0 where x < least: known without a product that underflows, which takes a CPU over
// a hundred cycles. Masked scores are such numbers, half of them as a rule.
template <class V>
__forceinline__ V simdScaleFrom(V x, LaneOf<V> least, V p, V shifted) {
#if defined(__AVX512F__) && !defined(__clang__)
  constexpr int kNotLess = 0x15;  // true of NaN
  if constexpr (__is_same(V, Simd<float, 16>)) {
    const auto is_there = __builtin_ia32_cmpps512_mask(x, V{} + least, kNotLess, (u16)-1, 4);
    return __builtin_ia32_scalefps512_mask(p, shifted - kSimdRound<V>, V{}, is_there, 4);
  } else if constexpr (__is_same(V, Simd<double, 8>)) {
    const auto is_there = __builtin_ia32_cmppd512_mask(x, V{} + least, kNotLess, (u8)-1, 4);
    return __builtin_ia32_scalefpd512_mask(p, shifted - kSimdRound<V>, V{}, is_there, 4);
  }
#endif
  const MaskOf<V> is_none = x < least;
  const V scaled = simdScale(p, is_none ? V{} + kSimdRound<V> : shifted);
  return is_none ? V{} : scaled;
}
// x held between bounds; NaN stays NaN, because it is the second operand.
template <class V>
__forceinline__ V simdBound(V x, LaneOf<V> least, LaneOf<V> most) {
  return simdMax(V{} + least, simdMin(V{} + most, x));
}

// e^r - 1 of x = n ln 2 + r, for shifted = n + kSimdRound; with kMore of x + low, `low` being small
// beside x. ln 2 is in two parts, the first short: n times it is exact.
template <class V>
constexpr LaneOf<V> kSimdLn2 = kSimdDouble<V> ? 6.93147180369123816490e-01 : 0.693359375;
template <class V>
constexpr LaneOf<V> kSimdLn2Low = kSimdDouble<V> ? 1.90821492927058770002e-10 : -2.12194440e-4;
template <bool kMore = false, class V>
__forceinline__ V simdExpRest(V x, V& shifted, V low = V{}) {
  shifted = simdMulAdd(kMore ? x + low : x, (LaneOf<V>)1.44269504088896340736, kSimdRound<V>);
  const V n = shifted - kSimdRound<V>;
  V r = simdMulAdd(n, -kSimdLn2Low<V>, simdMulAdd(n, -kSimdLn2<V>, x));
  r = kMore ? r + low : r;
  if constexpr (kSimdDouble<V>) {
    constexpr double c[] = {0.50000000000000011,   0.16666666666666668,   0.041666666666620639,
                            0.0083333333333297935, 0.0013888888918939168, 0.00019841269864380513,
                            2.4801518641395994e-5, 2.7557266418612304e-6, 2.7621338669142924e-7,
                            2.510134692835034e-8};
    return simdMulAdd(simdPolynomial(r, c) * r, r, r);
  } else {
    constexpr float c[] = {0.499999940f, 0.166665196f, 0.0416683927f, 0.00836878084f,
                           0.00138144649f};
    return simdMulAdd(simdPolynomial(r, c) * r, r, r);
  }
}
template <class V>
__forceinline__ V simdExp(V x) {
  V shifted;
  const V rest = simdExpRest(simdMin(V{} + (LaneOf<V>)(kSimdDouble<V> ? 710.0 : 89.0), x), shifted);
  return simdScaleFrom(x, kSimdDouble<V> ? -745.2 : -104.0, rest + 1, shifted);
}

// For |f| <= 1/2.
template <class V>
__forceinline__ V simdExp2Near0(V f) {
  if constexpr (kSimdDouble<V>) {
    constexpr double c[] = {0.69314718055994531,   0.24022650695910071,    0.055504108664821627,
                            0.0096181291076284795, 0.0013333558146406471,  0.00015403530393370733,
                            1.5252733841556773e-5, 1.3215486808705563e-6,  1.0178057087733941e-7,
                            7.0548973041554993e-9, 4.4558179083360645e-10, 2.5729324177362304e-11};
    return simdMulAdd(simdPolynomial(f, c), f, 1.0);
  } else {
    constexpr float c[] = {0.693147182f,   0.240226477f,   0.0555033199f,
                           0.00961843878f, 0.00133990042f, 0.000153532572f};
    return simdMulAdd(simdPolynomial(f, c), f, 1.0f);
  }
}

template <class V>
__forceinline__ V simdExp2(V x) {
  const V t = simdMin(V{} + (LaneOf<V>)(kSimdDouble<V> ? 1025.0 : 129.0), x);
  const V shifted = t + kSimdRound<V>;
  return simdScaleFrom(x, kSimdDouble<V> ? -1075.0 : -150.0,
                       simdExp2Near0(t - (shifted - kSimdRound<V>)), shifted);
}

// e^x - 1 = 2^n (e^r - 1 + (1 - 2^-n)); exact differences for small n.
template <class V>
__forceinline__ V simdExpm1(V x) {
  V shifted;
  const V rest = simdExpRest(
      simdBound(x, kSimdDouble<V> ? -40.0 : -25.0, kSimdDouble<V> ? 710.0 : 89.0), shifted);
  const V least = 1 - simdScale(V{} + 1, 2 * kSimdRound<V> - shifted);
  return x == 0 ? x : simdScale(rest + least, shifted);
}

// A logarithm is `core(f, tail, e)` of x = (1 + f) * 2^e with 1 + f in [sqrt(1/2), sqrt(2)) and
// log(1 + f) = f + tail. Vectors with a subnormal, a zero, an infinity, a NaN or a negative number
// take the long way.
template <class V>
__forceinline__ MaskOf<V> simdLogExponent(V x) {
  constexpr LaneOf<MaskOf<V>> kHalfRoot =
      kSimdDouble<V> ? (LaneOf<MaskOf<V>>)0x3fe6a09e667f3bcd : (LaneOf<MaskOf<V>>)0x3f3504f3;
  return ((MaskOf<V>)x - kHalfRoot) >> kSimdDigits<V>;
}
template <class V>
__forceinline__ V simdLogTail(V f) {
  if constexpr (kSimdDouble<V>) {
    constexpr double c[] = {0.66666666666666666, 0.40000000000000883, 0.28571428570799785,
                            0.22222222392581045, 0.18181795547521136, 0.15386244737621667,
                            0.13268638369266824, 0.13088034850927554};
    const V s = f / (f + 2), square = s * s, half = f * f * 0.5;
    return s * simdMulAdd(square, simdPolynomial(square, c), half) - half;
  } else {
    constexpr float c[] = {0.333333135f,  -0.250000089f, 0.200021192f,  -0.166679963f, 0.142195508f,
                           -0.124055915f, 0.118881747f,  -0.116756409f, 0.0674660131f};
    const V square = f * f;
    return simdMulAdd(square * f, simdPolynomial(f, c), square * -0.5f);
  }
}
/// A small whole number as one of the lanes.
template <class V>
__forceinline__ V simdOfWhole(MaskOf<V> e) {
  if constexpr (kSimdDouble<V>) {
    return (V)(e + (MaskOf<V>)(V{} + kSimdRound<V>)) - kSimdRound<V>;
  } else {
    return __builtin_convertvector(e, V);
  }
}
template <class V, class Core>
__forceinline__ V simdLogOf(V x, V exponent, Core core) {
  const MaskOf<V> e = simdLogExponent(x);
  const V f = (V)((MaskOf<V>)x - (e << kSimdDigits<V>)) - 1;
  return core(f, simdLogTail(f), simdOfWhole<V>(e) + exponent);
}
template <class V, class Core>
__forceinline__ V simdLogWith(V x, Core core) {
  auto plain = (x >= kSimdLeast<V>)&(x < kSimdInfinity<V>);
  if (__builtin_expect(!simdAny(~plain), 1)) {
    return simdLogOf(x, V{}, core);
  }
  constexpr int kUp = kSimdDigits<V>;
  auto tiny = x < kSimdLeast<V>;
  V result = simdLogOf(tiny ? x * (LaneOf<V>)((u64)1 << kUp) : x, tiny ? V{} - kUp : V{}, core);
  result = x == kSimdInfinity<V> ? x : result;
  result = x == 0 ? V{} - kSimdInfinity<V> : result;
  return x >= 0 ? result : V{} + kSimdNan<V>;
}

template <class V>
__forceinline__ V simdLog(V x) {
  return simdLogWith(x, [](V f, V tail, V e) __attribute__((always_inline)) {
    return simdMulAdd(e, kSimdLn2<V>, f + simdMulAdd(e, kSimdLn2Low<V>, tail));
  });
}
// 1 + x is rounded; what that loses comes back as the last summand, except where x itself is f.
template <class V>
__forceinline__ V simdLog1p(V x) {
  V u = 1 + x, lost = x - (u - 1);
  const MaskOf<V> e = simdLogExponent(u);
  V rounded = (V)((MaskOf<V>)u - (e << kSimdDigits<V>));
  V f = e == 0 ? x : rounded - 1;
  V more = (e == 0) | (e > kSimdBias<V> - 23) ? V{} : lost * simdPowerOfTwo<V>(-e) / rounded;
  V n = simdOfWhole<V>(e);
  V tail = simdLogTail(f) + more;
  V result = simdMulAdd(n, kSimdLn2<V>, f + simdMulAdd(n, kSimdLn2Low<V>, tail));
  result = (x == 0) | (x == kSimdInfinity<V>) ? x : result;
  result = x == -1 ? V{} - kSimdInfinity<V> : result;
  return x >= -1 ? result : V{} + kSimdNan<V>;
}
// log2(e) is 1 + 0.4427, log10(e) and log10(2) are two parts each; added from the smallest up.
template <class V>
__forceinline__ V simdLog2(V x) {
  return simdLogWith(x, [](V f, V tail, V e) __attribute__((always_inline)) {
    constexpr LaneOf<V> kMore = 0.44269504088896340736;
    return ((simdMulAdd(tail, kMore, f * kMore) + tail) + f) + e;
  });
}
template <class V>
__forceinline__ V simdLog10(V x) {
  return simdLogWith(x, [](V f, V tail, V e) __attribute__((always_inline)) {
    using T = LaneOf<V>;
    V low = simdMulAdd(f + tail, (T)0.000700731903251827651, e * (T)0.000248745663981195213739);
    V high = low + simdMulAdd(tail, (T)0.43359375, f * (T)0.43359375);
    return simdMulAdd(e, (T)0.30078125, high);
  });
}

// m / (m + 2) of m = e^2x - 1 = 2^n (e^r - 1) + (2^n - 1), whose last part is exact.
template <class V>
__forceinline__ V simdTanh(V x) {
  constexpr LaneOf<V> kMost = kSimdDouble<V> ? 44 : 20;
  V shifted;
  const V rest = simdExpRest(simdBound(x + x, -kMost, kMost), shifted);
  const V power = simdScale(V{} + 1, shifted);
  const V m = simdMulAdd(rest, power, power - 1);
  return simdCopySign(m / (m + 2), x);
}

template <class V>
__forceinline__ V simdSigmoid(V x) {
  return 1 / (1 + simdExp(-x));
}

template <class V>
__forceinline__ V simdSqrt(V x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    return __builtin_ia32_sqrtps512_mask(x, V{}, (u16)-1, 4);
  } else if constexpr (__is_same(V, Simd<double, 8>)) {
    return __builtin_ia32_sqrtpd512_mask(x, V{}, (u8)-1, 4);
  }
#endif
#if defined(__AVX__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 8>)) {
    return __builtin_ia32_sqrtps256(x);
  } else if constexpr (__is_same(V, Simd<double, 4>)) {
    return __builtin_ia32_sqrtpd256(x);
  }
#endif
  return simdMap(x, [](LaneOf<V> v) __attribute__((always_inline)) {
    return (LaneOf<V>)(kSimdDouble<V> ? __builtin_sqrt(v) : __builtin_sqrtf(v));
  });
}
template <class V>
__forceinline__ V simdRsqrt(V x) {
  return 1 / simdSqrt(x);
}

// --- for results that are rounded to bfloat16 ------------------------------------------------
template <class V>
__forceinline__ V simdReciprocalFast(V x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    return __builtin_ia32_rcp14ps512_mask(x, V{}, (u16)-1);
  }
#endif
  return 1.0f / x;
}
template <class V>
__forceinline__ V simdRsqrtFast(V x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    return __builtin_ia32_rsqrt14ps512_mask(x, V{}, (u16)-1);
  }
#endif
  return simdRsqrt(x);
}
template <class V>
__forceinline__ V simdExpFast(V x) {
  constexpr float c[] = {0.999999285f, 0.693121731f, 0.240247533f, 0.0559186824f, 0.00957000069f};
  V t = simdMin(V{} + 129.0f, x * 1.44269504f);
  V shifted = t + kSimdRound<V>;
  return simdScaleFrom(t, -150.0f, simdPolynomial(t - (shifted - kSimdRound<V>), c), shifted);
}
template <class V>
__forceinline__ V simdSigmoidFast(V x) {
  return simdReciprocalFast(1.0f + simdExpFast(-x));
}
template <class V>
__forceinline__ V simdTanhFast(V x) {
  return 1.0f - 2.0f * simdReciprocalFast(simdExpFast(x + x) + 1.0f);
}
// Of a divisor that stays the same: its reciprocal is taken once, of its digits alone, so that it
// may be as small or as large as it likes.
template <class V>
__forceinline__ V simdDivideFast(V x, V divisor) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    V digits = __builtin_ia32_getmantps512_mask(divisor, 0, V{}, (u16)-1, 4);
    V exponent = __builtin_ia32_getexpps512_mask(divisor, V{}, (u16)-1, 4);
    return __builtin_ia32_scalefps512_mask(x * (1.0f / digits), -exponent, V{}, (u16)-1, 4);
  }
#endif
  return x / divisor;
}
