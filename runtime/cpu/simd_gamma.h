// The logarithm of the gamma function of vectors of float, any number of lanes, in double within:
// 1 ulp over all floats.
//
//   simdLgamma(x)
//
// Above 3 by Stirling's series, whose rest is a polynomial in 1 / x²; in [1, 3] by one in x - 2
// that multiplies (x - 1) (x - 2), its zeros; below 1 by lgamma(x) = lgamma(x + 1) - log x, and
// below 0 by the reflection log(pi / |x sin(pi x)|) - lgamma(-x) (Abramowitz and Stegun, 6.1).
// Vectors with a negative number near one of the zeros go lane by lane to the C library.
//
// needs: cpu/simd_math.h

// Of x >= 0.
template <class D>
__forceinline__ D simdLgammaAbove0(D x) {
  constexpr double c[] = {0.42278433506504502,    -0.10031730165840978,    0.032965004891564562,
                          -0.012384194230569828,  0.0049985523000045135,   -0.0021080884426724371,
                          0.00091607536529108026, -0.00040604055229271232, 0.0001798884008053009,
                          -8.1824451191998674e-5, 4.3584988032127067e-5,   -2.0244296438057545e-5,
                          2.3377832871042997e-6,  -1.0423813294330275e-6,  4.8487533968048042e-6,
                          -2.301277182486616e-6};
  constexpr double d[] = {0.083333333331399852,    -0.0027777765182039506, 0.00079351488227287592,
                          -0.00058971248872431151, 0.00073447431170522408, -0.00082282006125685179};
  const D logarithm = simdLog(x);
  const auto low = x < 1;
  const D u = low ? x + 1 : x, v = u - 2;
  const D near = (u - 1) * v * simdPolynomial(v, c);
  const D inverse = 1 / x;
  // (x - 1/2) log x - x + log(2 pi) / 2; an infinity stays one.
  const D far = simdMulAdd(x - 0.5, logarithm - 1, 0.418938533204672741780) +
                inverse * simdPolynomial(inverse * inverse, d);
  return x < 3 ? (low ? near - logarithm : near) : far;
}
// log |y sin(pi y) / pi| of y > 0, -inf at whole numbers.
template <class D>
__forceinline__ D simdLogOfSine(D y) {
  constexpr double c[] = {3.1415926535897929,     -5.1677127800497858,  2.5501640398618676,
                          -0.59926452882522401,   0.082145878816310427, -0.0073703643265304157,
                          0.00046598701580433779, -2.113362735205297e-5};
  const D rest = y - ((y + kSimdRound<D>)-kSimdRound<D>);
  return simdLog(simdAbs(y * rest * simdPolynomial(rest * rest, c)) * 0.318309886183790671538);
}
template <class V>
__attribute__((noinline, cold)) static V simdLgammaLanes(V x) {
  return simdMap(x, [](float v) { return __builtin_lgammaf(v); });
}
template <class V>
__forceinline__ V simdLgamma(V x) {
  constexpr int kPart = kLanes<V> < kSimdFloats / 2 ? kLanes<V> : kSimdFloats / 2;
  using D = Simd<double, kPart>;
  using F = Simd<float, kPart>;
  float part[kLanes<V>];
  simdStore(part, x);
  const auto negative = x < 0;
  const bool reflects = simdAny(negative);
  for (int i = 0; i < kLanes<V>; i += kPart) {
    const D at = __builtin_convertvector(simdLoad<kPart>(part + i), D), size = simdAbs(at);
    D value = simdLgammaAbove0(size);
    if (reflects) {
      value = at < 0 ? -simdLogOfSine(size) - value : value;
    }
    simdStore(part + i, __builtin_convertvector(value, F));
  }
  const V result = simdLoad<kLanes<V>>(part);
  if (reflects && simdAny(negative & (simdAbs(result) < 0.01f))) {
    return simdLgammaLanes(x);
  }
  return simdAbs(x) == kSimdInfinity<V> ? simdAbs(x) : result + 0.0f;  // no -0 at 1 and 2
}
