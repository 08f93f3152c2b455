// Hyperbolic functions of vectors of float or double, any number of lanes, and their inverses.
//
//   function               largest error   over
//   simdSinh, simdCosh     2 ulp           all numbers
//   simdAsinh, simdAcosh   3.5 ulp         all numbers; acosh below 1 NaN
//   simdAtanh              3.5 ulp         [-1, 1]; NaN elsewhere
//
// NaN in, NaN out. The inverses are logarithms of 1 + u, as in fdlibm (s_asinh.c, e_atanh.c).
//
// needs: cpu/simd_math.h

// e^x / 2, which is finite a little longer.
template <class V>
__forceinline__ V simdHalfExp(V x) {
  constexpr LaneOf<V> kMost = kSimdDouble<V> ? 711 : 90;
  V shifted;
  const V rest = simdExpRest(simdMin(V{} + kMost, x), shifted);
  return simdScale(rest + 1, shifted - 1);
}
template <class V>
__forceinline__ V simdCosh(V x) {
  const V half = simdHalfExp(simdAbs(x));
  return half + (LaneOf<V>)0.25 / half;
}
template <class V>
__forceinline__ V simdSinh(V x) {
  const V size = simdAbs(x), half = simdHalfExp(size), square = x * x;
  V more;
  if constexpr (kSimdDouble<V>) {
    constexpr double c[] = {0.16666666666666667,   0.0083333333333332994, 0.00019841269841324198,
                            2.7557319191381817e-6, 2.5052117695907824e-8, 1.6057679623801638e-10,
                            7.7461785930188275e-13};
    more = simdPolynomial(square, c);
  } else {
    constexpr float c[] = {0.166666666f, 0.00833333968f, 0.00019838102f, 2.80628026e-6f};
    more = simdPolynomial(square, c);
  }
  const V near = simdMulAdd(x * square, more, x);
  return size < 1 ? near : simdCopySign(half - (LaneOf<V>)0.25 / half, x);
}

// From here on 1 beside x, or beside its square, does not count.
template <class V>
constexpr LaneOf<V> kSimdAllBig = kSimdDouble<V> ? 0x1p54 : 0x1p26;
template <class V>
constexpr LaneOf<V> kSimdLnOf2 = 0.693147180559945309417;
template <class V>
__forceinline__ V simdAsinh(V x) {
  const V size = simdAbs(x), square = size * size;
  const auto big = size > kSimdAllBig<V>;
  const V u = big ? size : size + square / (1 + simdSqrt(1 + square));
  return simdCopySign(simdLog1p(u) + (big ? V{} + kSimdLnOf2<V> : V{}), x);
}
template <class V>
__forceinline__ V simdAcosh(V x) {
  const V above = x - 1;
  const auto big = x > kSimdAllBig<V>;
  const V u = big ? x : above + simdSqrt(above * (above + 2));
  return x < 1 ? V{} + kSimdNan<V> : simdLog1p(u) + (big ? V{} + kSimdLnOf2<V> : V{});
}
template <class V>
__forceinline__ V simdAtanh(V x) {
  const V size = simdAbs(x), twice = size + size;
  const V half = simdLog1p(twice + twice * size / (1 - size)) * (LaneOf<V>)0.5;
  return x == 0 ? x : size <= 1 ? simdCopySign(half, x) : V{} + kSimdNan<V>;
}
