// The error function of vectors of float or double, any number of lanes, its complement and its
// inverse.
//
//   function    largest error             over
//   simdErf     1.4 ulp (double: 2.5)     all numbers (1.6 without FMA)
//   simdErfc    3 ulp                     all numbers; of a subnormal result, of its last place
//   simdErfinv  3 ulp                     [-1, 1]; NaN elsewhere
//
// NaN in, NaN out. The complement is e^-x² (1 + 2x)^-1 times a polynomial in (x - K) / (x + K), as
// in Shepherd and Laframboise, Chebyshev approximation of (1 + 2x) exp(x²) erfc x in 0 <= x < inf,
// Math. Comp. 36 (1981). The inverse is x times a polynomial in -log(1 - x²), or near 1 in that
// one's root, as in Giles, Approximating the erfinv function (2012).
//
// needs: cpu/simd_math.h

// erf(x) for |x| < 1/2 (0.9 of float).
template <class V>
__forceinline__ V simdErfNear0(V x) {
  if constexpr (kSimdDouble<V>) {
    constexpr double c[] = {0.12837916709551257,    -0.37612638903183474,  0.11283791670925353,
                            -0.026866170632887929,  0.00522397737302147,   -0.00085482977536749669,
                            0.00012053335124353741, -1.484584925970787e-5, 1.4725865480556744e-6};
    return simdMulAdd(x, simdPolynomial(x * x, c), x);
  } else {
    constexpr float c[] = {0.128379151f,   -0.376125246f,  0.112821408f,
                           -0.0267789084f, 0.00501196273f, -0.000609036011f};
    return simdMulAdd(x, simdPolynomial(x * x, c), x);
  }
}
// e^-x² = 2^n (1 + rest), for shifted = n + kSimdRound, x >= 0. The square is in two parts, the
// first exact.
template <class V>
__forceinline__ V simdExpRestOfSquare(V x, V& shifted) {
  constexpr LaneOf<MaskOf<V>> kUpper =
      kSimdDouble<V> ? ~(LaneOf<MaskOf<V>>)0x7ffffff : ~(LaneOf<MaskOf<V>>)0xfff;
  const V held = simdMin(V{} + (LaneOf<V>)(kSimdDouble<V> ? 27.3 : 10.1), x);
  const V upper = (V)((MaskOf<V>)held & kUpper);
  return simdExpRest<true>(-(upper * upper), shifted, (upper - held) * (upper + held));
}
// e^x² erfc(x) for x >= 1/2.
template <class V>
__forceinline__ V simdErfcScaled(V x) {
  x = simdBound(x, 0.5, kSimdDouble<V> ? 27.3 : 10.1);
  if constexpr (kSimdDouble<V>) {
    constexpr double c[] = {1.2375126308378276,     -0.14024059858554701,   0.0035854154854657113,
                            0.082276738490149123,   -0.10880393014184723,   0.092304321160281075,
                            -0.058693398586771113,  0.028362277419869549,   -0.0097465796000522921,
                            0.001755625850456405,   0.00029371402057937959, -0.00029015409902226681,
                            5.164724441182936e-5,   2.2384418560863321e-5,  -1.143794944803206e-5,
                            -9.7424398333005536e-7, 1.7383286285147736e-6,  -5.5775192439300452e-8,
                            -2.4077999910205624e-7, 2.150923614513223e-8,   2.4738646684424085e-8,
                            -2.5967155871350655e-9};
    return simdPolynomial((x - 3.75) / (x + 3.75), c) / (1 + 2 * x);
  } else {
    constexpr float c[] = {1.27697839f,     -0.0927637847f,  -0.166030899f,  0.164049434f,
                           -0.0542101884f,  -0.00801201405f, 0.00865427181f, 0.00116813336f,
                           -0.00125864087f, -0.000250330436f};
    return simdPolynomial((x - 2) / (x + 2), c) / (1 + 2 * x);
  }
}
// erfc(x) for x >= 1/2.
template <class V>
__forceinline__ V simdErfcFar(V x) {
  V shifted;
  const V scaled = simdErfcScaled(x), rest = simdExpRestOfSquare(x, shifted);
  return simdScale(simdMulAdd(scaled, rest, scaled), shifted);
}
template <class V>
__forceinline__ V simdErfc(V x) {
  const V size = simdAbs(x), far = simdErfcFar(size);
  return size < (LaneOf<V>)0.5 ? 1 - simdErfNear0(x) : x < 0 ? 2 - far : far;
}

// Of float by one formula beyond 0.9: erfc is 2 to a polynomial t, in [-25, -2]. The power needs no
// subnormals, and its errors count by erfc / erf < 0.26.
template <class V>
__forceinline__ V simdErf(V x) {
  using I = MaskOf<V>;
  const V size = simdAbs(x), near = simdErfNear0(x);
  if constexpr (kSimdDouble<V>) {
    return size < 0.5 ? near : simdCopySign(1 - simdErfcFar(size), x);
  } else {
    constexpr float d[] = {-0.000240133377f, -1.62706745f,    -0.91896224f,   -0.150204286f,
                           0.0321940482f,    -0.00442256778f, 0.000285970513f};
    V t = simdPolynomial(simdMin(V{} + 3.95f, size), d);  // erf(3.95) is 1 rounded
    V shifted = t + kSimdRound<V>;
    V power = (V)(((I)shifted << 23) + 0x3f800000);
    V far = simdMulAdd(-simdExp2Near0(t - (shifted - kSimdRound<V>)), power, 1.0f);
    return size < 0.9f ? near : (V)((I)far | ((I)x & (int)0x80000000));
  }
}

// x = size * that, within 3e-8 (4e-6 of double, beyond 0.99).
template <class V>
__forceinline__ V simdErfinvRatio(V size) {
  const V w = -simdLog((1 - size) * (1 + size)), near = w - (LaneOf<V>)2.5;
  constexpr double c[] = {1.50140936,     0.246640279,    -0.00417739288, -0.00125272639,
                          0.000218349386, -4.97241969e-6, -3.46398527e-6, 4.68131348e-7,
                          2.33359672e-8,  -8.93192597e-9};
  V ratio = simdPolynomial(near, c);
  const auto far = w > 5;
  if (simdAny(far)) {
    const V root = simdSqrt(w);
    if constexpr (kSimdDouble<V>) {
      constexpr double d[] = {3.839783678,     1.009493105,     0.001264754422, -0.0008759079602,
                              0.0003071139646, -9.558266287e-5, 6.262653104e-5, -5.239044211e-5,
                              2.24671628e-5,   -3.54867149e-6};
      ratio = far ? simdPolynomial(root - 4, d) : ratio;
    } else {
      constexpr float d[] = {2.83297681f,      1.00167491f,     0.00944499211f, -0.00763648964f,
                             0.00568921629f,   -0.00360090033f, 0.00147970395f, -5.04588529e-5f,
                             -0.000305525051f, 0.000111538581f};
      ratio = far ? simdPolynomial(root - 3, d) : ratio;
    }
  }
  return ratio;
}
// Of double one step of Halley's: what is missing in erf, or in erfc, over its slope.
template <class V>
__forceinline__ V simdErfinv(V y) {
  const V size = simdAbs(y);
  V x = y * simdErfinvRatio(size);
  if constexpr (kSimdDouble<V>) {
    const V at = simdAbs(x);
    V shifted;
    const V rest = simdExpRestOfSquare(at, shifted), power = simdScale(rest + 1, shifted);
    const V far = simdErfcScaled(at) * power - (1 - size);
    const V missing = at < 0.5 ? size - simdErfNear0(at) : far;
    const V step = missing / (1.12837916709551257390 * power);
    x = simdCopySign(at + step / (1 - at * step), y);
  }
  x = size == 1 ? simdCopySign(V{} + kSimdInfinity<V>, y) : x;
  return size <= 1 ? x : V{} + kSimdNan<V>;
}
