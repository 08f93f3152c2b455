// Elementary functions of float vectors, any number of lanes. V is Simd<float, N>.
//
//   function             largest error     over
//   simdExp, simdExp2    1 ulp             all floats; to infinity and, through subnormals, to 0
//   simdLog              1 ulp             all floats; subnormals too, -inf at 0, NaN below
//   simdLog2, simdLog10  2 ulp             all floats
//   simdExpm1, simdLog1p 2 ulp             all floats
//   simdPow              1.5 ulp           all floats
//   simdTanh             2.5 ulp           all floats
//   simdErf              1.4 ulp           all floats
//   simdSigmoid          2.5 ulp           where the result is normal
//   simdSin, simdCos     2 ulp             |x| < 10^4; the C library beyond
//   simdSqrt, simdRsqrt  0.5, 1.5 ulp      all floats
//
// (Without FMA 1.1 instead of 1, and 1.6 instead of 1.4; `tests/unit/runtime_cpu_snippets.cpp`
// holds them to it.) NaN in, NaN out. Fast ones, for results that are rounded to bfloat16:
// simdExpFast 1e-5, simdReciprocalFast and simdRsqrtFast 6e-5, simdSigmoidFast, simdTanhFast 1e-4
// relative, simdDivideFast 2 ulp.
//
// Coefficients: minimax fits of our own (weighted least squares, reweighted to equal ripple),
// rounded to float.
//
// needs: cpu/simd.h

// Horner's rule as one expression: GCC 12 leaves a loop over so many coefficients a loop at -O2,
// with the coefficients on the stack.
template <int I = 0, class V, class T, int N>
__forceinline__ V simdPolynomial(V x, const T (&c)[N]) {
  if constexpr (I == N - 1) {
    return V{} + c[I];
  } else {
    return simdMulAdd(simdPolynomial<I + 1>(x, c), x, c[I]);
  }
}

template <class V>
__forceinline__ V simdAbs(V x) {
  using I = MaskOf<V>;
  return (V)((I)x & 0x7fffffff);
}
template <class V>
__forceinline__ V simdCopySign(V magnitude, V sign) {
  using I = MaskOf<V>;
  return (V)(((I)magnitude & 0x7fffffff) | ((I)sign & (int)0x80000000));
}

// Whether a comparison is true for any lane.
template <class M>
__forceinline__ bool simdAny(M mask) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(M, Simd<int, 16>)) {
    return __builtin_ia32_ptestmd512(mask, mask, (u16)-1) != 0;
  }
#endif
#if defined(__AVX__)
  if constexpr (__is_same(M, Simd<int, 8>)) {
    return __builtin_ia32_movmskps256((Simd<float, 8>)mask) != 0;
  }
#endif
#if defined(__SSE2__)
  if constexpr (__is_same(M, Simd<int, 4>)) {
    return __builtin_ia32_movmskps((Simd<float, 4>)mask) != 0;
  }
#endif
  return simdReduce(mask, [](auto a, auto b) __attribute__((always_inline)) { return a | b; }) != 0;
}

// x = n + f with |f| <= 1/2: adding 1.5 * 2^23 leaves n in the low bits.
constexpr float kSimdRound = 12582912.0f;

// p * 2^n for shifted = n + kSimdRound, n in [-252, 254]; the result may be subnormal or infinite.
template <class V>
__forceinline__ V simdScale(V p, V shifted) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    return __builtin_ia32_scalefps512_mask(p, shifted - kSimdRound, V{}, (u16)-1, 4);
  }
#endif
  using I = MaskOf<V>;
  I n = (I)shifted - 0x4b400000, first = n >> 1, second = n - first;
  return p * (V)((first + 127) << 23) * (V)((second + 127) << 23);
}
// x held between bounds; NaN stays NaN, because it is the second operand.
template <class V>
__forceinline__ V simdBound(V x, float least, float most) {
  return simdMax(V{} + least, simdMin(V{} + most, x));
}

template <class V>
__forceinline__ V simdExp(V x) {
  constexpr float c[] = {0.499999940f, 0.166665196f, 0.0416683927f, 0.00836878084f, 0.00138144649f};
  V t = simdBound(x, -104.5f, 89.0f);
  V shifted = simdMulAdd(t, 1.44269504088896f, kSimdRound), n = shifted - kSimdRound;
  // ln 2 in two parts, the first short: n times it is exact.
  V r = simdMulAdd(n, -0.693359375f, t);
  r = simdMulAdd(n, 2.12194440e-4f, r);
  return simdScale(simdMulAdd(simdPolynomial(r, c) * r, r, r) + 1.0f, shifted);
}

// For |f| <= 1/2.
template <class V>
__forceinline__ V simdExp2Near0(V f) {
  constexpr float c[] = {0.693147182f,   0.240226477f,   0.0555033199f,
                         0.00961843878f, 0.00133990042f, 0.000153532572f};
  return simdMulAdd(simdPolynomial(f, c), f, 1.0f);
}

template <class V>
__forceinline__ V simdExp2(V x) {
  V t = simdBound(x, -151.0f, 129.0f);
  V shifted = t + kSimdRound;
  return simdScale(simdExp2Near0(t - (shifted - kSimdRound)), shifted);
}

// e^x - 1 = 2^n (e^r - 1 + (1 - 2^-n)); exact differences for small n.
template <class V>
__forceinline__ V simdExpm1(V x) {
  constexpr float c[] = {0.499999940f, 0.166665196f, 0.0416683927f, 0.00836878084f, 0.00138144649f};
  V t = simdBound(x, -25.0f, 89.0f);
  V shifted = simdMulAdd(t, 1.44269504088896f, kSimdRound), n = shifted - kSimdRound;
  V r = simdMulAdd(n, -0.693359375f, t);
  r = simdMulAdd(n, 2.12194440e-4f, r);
  V least = 1.0f - simdScale(V{} + 1.0f, kSimdRound - n);
  V result = simdScale(simdMulAdd(simdPolynomial(r, c) * r, r, r) + least, shifted);
  return x == 0.0f ? x : result;
}

// A logarithm is `core(f, tail, e)` of x = (1 + f) * 2^e with 1 + f in [sqrt(1/2), sqrt(2)) and
// log(1 + f) = f + tail. Vectors with a subnormal, a zero, an infinity, a NaN or a negative number
// take the long way.
template <class V, class Core>
__forceinline__ V simdLogOf(V x, V exponent, Core core) {
  using I = MaskOf<V>;
  constexpr float c[] = {0.333333135f,  -0.250000089f, 0.200021192f,  -0.166679963f, 0.142195508f,
                         -0.124055915f, 0.118881747f,  -0.116756409f, 0.0674660131f};
  I b = (I)x, e = (b - 0x3f3504f3) >> 23;
  V f = (V)(b - (e << 23)) - 1.0f, square = f * f;
  V tail = simdMulAdd(square * f, simdPolynomial(f, c), square * -0.5f);
  return core(f, tail, __builtin_convertvector(e, V) + exponent);
}
template <class V, class Core>
__forceinline__ V simdLogWith(V x, Core core) {
  auto plain = (x >= 1.17549435e-38f) & (x < __builtin_inff());
  if (__builtin_expect(!simdAny(~plain), 1)) {
    return simdLogOf(x, V{}, core);
  }
  auto tiny = x < 1.17549435e-38f;
  V result = simdLogOf(tiny ? x * 8388608.0f : x, tiny ? V{} - 23.0f : V{}, core);
  result = x == __builtin_inff() ? x : result;
  result = x == 0.0f ? V{} - __builtin_inff() : result;
  return x >= 0.0f ? result : V{} + __builtin_nanf("");
}

template <class V>
__forceinline__ V simdLog(V x) {
  return simdLogWith(x, [](V f, V tail, V e) __attribute__((always_inline)) {
    return simdMulAdd(e, 0.693359375f, f + simdMulAdd(e, -2.12194440e-4f, tail));
  });
}
// 1 + x is rounded; what that loses comes back as the last summand, except where x itself is f.
template <class V>
__forceinline__ V simdLog1p(V x) {
  using I = MaskOf<V>;
  constexpr float c[] = {0.333333135f,  -0.250000089f, 0.200021192f,  -0.166679963f, 0.142195508f,
                         -0.124055915f, 0.118881747f,  -0.116756409f, 0.0674660131f};
  V u = 1.0f + x, lost = x - (u - 1.0f);
  I b = (I)u, e = (b - 0x3f3504f3) >> 23;
  V rounded = (V)(b - (e << 23));
  V f = e == 0 ? x : rounded - 1.0f, square = f * f;
  V more = (e == 0) | (e > 100) ? V{} : lost * (V)((127 - e) << 23) / rounded;
  V n = __builtin_convertvector(e, V);
  V tail = simdMulAdd(square * f, simdPolynomial(f, c), square * -0.5f) + more;
  V result = simdMulAdd(n, 0.693359375f, f + simdMulAdd(n, -2.12194440e-4f, tail));
  result = (x == 0.0f) | (x == __builtin_inff()) ? x : result;
  result = x == -1.0f ? V{} - __builtin_inff() : result;
  return x >= -1.0f ? result : V{} + __builtin_nanf("");
}
// log2(e) is 1 + 0.4427, log10(e) and log10(2) are two parts each; added from the smallest up.
template <class V>
__forceinline__ V simdLog2(V x) {
  return simdLogWith(x, [](V f, V tail, V e) __attribute__((always_inline)) {
    return ((simdMulAdd(tail, 0.44269504088896341f, f * 0.44269504088896341f) + tail) + f) + e;
  });
}
template <class V>
__forceinline__ V simdLog10(V x) {
  return simdLogWith(x, [](V f, V tail, V e) __attribute__((always_inline)) {
    V low = simdMulAdd(f + tail, 0.000700731903251827651f, e * 0.000248745663981195213f);
    V high = low + simdMulAdd(tail, 0.43359375f, f * 0.43359375f);
    return simdMulAdd(e, 0.30078125f, high);
  });
}

// 2^(y log2(x)) with the logarithm in double. Vectors with a base that is neither normal nor 0, or
// an exponent that is not finite, go lane by lane.
template <class V>
__attribute__((noinline, cold)) static V simdPowLanes(V x, V y) {
  V result;
  for (int i = 0; i < kLanes<V>; i++) {
    result[i] = powReal(x[i], y[i]);
  }
  return result;
}
// `power`, of |x| or, where x is 0, of 1, for x: of 0 it is 0, 1 or infinite, of less than 0 an odd
// exponent gives a sign, and one that is no integer NaN.
template <class V>
__attribute__((noinline)) static V simdPowSigned(V power, V x, V y) {
  using I = MaskOf<V>;
  auto even = simdAbs(y) >= 16777216.0f;  // all floats from here on are even
  I whole = __builtin_convertvector(even ? V{} : y, I);
  auto odd = (whole & 1) != 0 & __builtin_convertvector(whole, V) == y;
  auto integral = even | (__builtin_convertvector(whole, V) == y);
  V of_zero = y > 0.0f ? V{} : V{} + __builtin_inff();
  V result = (x == 0.0f) & (y != 0.0f) ? of_zero : power;
  result = (x < 0.0f) & ~integral ? V{} + __builtin_nanf("") : result;
  return (V)((I)result ^ (odd & (I)x & (int)0x80000000));
}
template <class V>
__forceinline__ V simdPow(V base, V y) {
  using I = MaskOf<V>;
  constexpr int kPart = kLanes<V> < kSimdFloats / 2 ? kLanes<V> : kSimdFloats / 2;
  using D = Simd<double, kPart>;
  using F = Simd<float, kPart>;
  V x = base == 0.0f ? V{} + 1.0f : simdAbs(base);
  auto plain = (x >= 1.17549435e-38f) & (x < __builtin_inff()) & (simdAbs(y) < __builtin_inff());
  if (__builtin_expect(simdAny(~plain), 0)) {
    return simdPowLanes(base, y);
  }
  // log2((1 + s) / (1 - s)) is 2 / ln 2 (s + s^3 / 3 + ...), |s| < 0.172.
  constexpr double c[] = {2.8853900817779268,  0.9617966939259757, 0.5770780163555853,
                          0.41219858311113244, 0.3205988979753252, 0.2623081892525388,
                          0.2219530832136867,  0.19235933878519512};
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  I b = (I)x, e = (b - 0x3f3504f3) >> 23;
  // In registers of double, half as many lanes each.
  float mantissa[kLanes<V>], exponent[kLanes<V>], power[kLanes<V>], rest[kLanes<V>];
  simdStore(mantissa, (V)(b - (e << 23)));
  simdStore(exponent, __builtin_convertvector(e, V));
  simdStore(power, y);
  for (int i = 0; i < kLanes<V>; i += kPart) {
    D m = __builtin_convertvector(simdLoad<kPart>(mantissa + i), D);
    D s = (m - 1.0) / (m + 1.0), square = s * s;
    D sum = simdPolynomial(square, c) * s;
    D z = (sum + __builtin_convertvector(simdLoad<kPart>(exponent + i), D)) *
          __builtin_convertvector(simdLoad<kPart>(power + i), D);
    D whole = (z + kRound) - kRound;
    simdStore(rest + i, __builtin_convertvector(z - whole, F));
    simdStore(exponent + i, __builtin_convertvector(whole, F));
  }
  V f = simdBound(simdLoad<kLanes<V>>(rest), -0.5f, 0.5f);
  V n = simdBound(simdLoad<kLanes<V>>(exponent), -200.0f, 200.0f);
  V result = simdScale(simdExp2Near0(f), n + kSimdRound);
  return simdAny(base <= 0.0f) ? simdPowSigned(result, base, y) : result;
}

// m / (m + 2) of m = e^2x - 1 = 2^n (e^r - 1) + (2^n - 1), whose last part is exact.
template <class V>
__forceinline__ V simdTanh(V x) {
  constexpr float c[] = {0.499999940f, 0.166665196f, 0.0416683927f, 0.00836878084f, 0.00138144649f};
  V t = simdBound(x + x, -20.0f, 20.0f);
  V shifted = simdMulAdd(t, 1.44269504088896f, kSimdRound), n = shifted - kSimdRound;
  V r = simdMulAdd(n, -0.693359375f, t);
  r = simdMulAdd(n, 2.12194440e-4f, r);
  V power = simdScale(V{} + 1.0f, shifted);
  V m = simdMulAdd(simdMulAdd(simdPolynomial(r, c) * r, r, r), power, power - 1.0f);
  return simdCopySign(m / (m + 2.0f), x);
}

// Odd polynomial below 0.9. Beyond, erfc is 2 to a polynomial t, in [-25, -2]: the power needs no
// subnormals, and its errors count by erfc / erf < 0.26.
template <class V>
__forceinline__ V simdErf(V x) {
  using I = MaskOf<V>;
  constexpr float c[] = {0.128379151f,   -0.376125246f,  0.112821408f,
                         -0.0267789084f, 0.00501196273f, -0.000609036011f};
  constexpr float d[] = {-0.000240133377f, -1.62706745f,    -0.91896224f,   -0.150204286f,
                         0.0321940482f,    -0.00442256778f, 0.000285970513f};
  V a = simdAbs(x), square = x * x;
  V small = simdMulAdd(x, simdPolynomial(square, c), x);
  V t = simdPolynomial(simdMin(V{} + 3.95f, a), d);  // erf(3.95) is 1 rounded
  V shifted = t + kSimdRound;
  V power = (V)(((I)shifted << 23) + 0x3f800000);
  V large = simdMulAdd(-simdExp2Near0(t - (shifted - kSimdRound)), power, 1.0f);
  return a < 0.9f ? small : (V)((I)large | ((I)x & (int)0x80000000));
}

template <class V>
__forceinline__ V simdSigmoid(V x) {
  return 1.0f / (1.0f + simdExp(-x));
}

// Sine and cosine by quadrants of pi / 2, which is taken in three parts: exact products up to 10^4.
template <int kQuadrant, class V>
__forceinline__ V simdSinCos(V x) {
  using I = MaskOf<V>;
  constexpr float s[] = {-0.166666552f, 0.00833215564f, -0.00019514632f};
  constexpr float c[] = {0.0416666456f, -0.00138873095f, 2.44324128e-05f};
  V shifted = simdMulAdd(x, 0.636619772367581f, kSimdRound), n = shifted - kSimdRound;
  V r = simdMulAdd(n, -1.5703125f, x);
  r = simdMulAdd(n, -4.837512969970703125e-4f, r);
  r = simdMulAdd(n, -7.54978995489188216e-8f, r);
  V square = r * r;
  V sine = simdMulAdd(r * square, simdPolynomial(square, s), r);
  V cosine =
      simdMulAdd(square * square, simdPolynomial(square, c), simdMulAdd(square, -0.5f, 1.0f));
  I quadrant = (I)shifted + kQuadrant;
  V result = (quadrant & 1) != 0 ? cosine : sine;
  return (V)((I)result ^ ((quadrant & 2) << 30));
}
template <class V>
__forceinline__ V simdSin(V x) {
  V result = simdSinCos<0>(x);
  result = x == 0.0f ? x : result;
  if (__builtin_expect(simdAny(simdAbs(x) >= 10000.0f), 0)) {
    return simdMap(x, [](float v) { return __builtin_sinf(v); });
  }
  return result;
}
template <class V>
__forceinline__ V simdCos(V x) {
  V result = simdSinCos<1>(x);
  if (__builtin_expect(simdAny(simdAbs(x) >= 10000.0f), 0)) {
    return simdMap(x, [](float v) { return __builtin_cosf(v); });
  }
  return result;
}

template <class V>
__forceinline__ V simdSqrt(V x) {
#if defined(__AVX512F__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 16>)) {
    return __builtin_ia32_sqrtps512_mask(x, V{}, (u16)-1, 4);
  }
#endif
#if defined(__AVX__) && !defined(__clang__)
  if constexpr (__is_same(V, Simd<float, 8>)) {
    return __builtin_ia32_sqrtps256(x);
  }
#endif
  return simdMap(x, [](float v) __attribute__((always_inline)) { return __builtin_sqrtf(v); });
}
template <class V>
__forceinline__ V simdRsqrt(V x) {
  return 1.0f / simdSqrt(x);
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
  V t = simdBound(x * 1.44269504f, -151.0f, 129.0f);
  V shifted = t + kSimdRound;
  return simdScale(simdPolynomial(t - (shifted - kSimdRound), c), shifted);
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
