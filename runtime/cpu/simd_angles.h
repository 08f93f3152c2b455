// Sines and their inverses, of vectors of float or double, any number of lanes.
//
//   function              largest error    over
//   simdSin, simdCos      2 ulp            |x| < 10^6 (10^5 of double); the C library beyond
//   simdTan               3 ulp            the same
//   simdAtan, simdAtan2   3 ulp            all numbers
//   simdAsin, simdAcos    3 ulp            [-1, 1]; NaN elsewhere
//
// NaN in, NaN out. pi / 2 in three parts is that of fdlibm (e_rem_pio2.c), for float in four (from
// 10^4 on in those of double); an arc tangent is taken near 0 or pi / 4, an arc sine from 1/2 on by
// that of the root of (1 - x) / 2, as there and in Cephes (Moshier).
//
// needs: cpu/simd_math.h

// x = n pi / 2 + r, for shifted = n + kSimdRound: exact products within the bounds above.
template <class V>
__forceinline__ V simdQuarter(V x, V& shifted) {
  constexpr bool kIsDouble = kSimdDouble<V>;
  constexpr LaneOf<V> kFirst = kIsDouble ? 1.57079632673412561417 : 1.5703125;
  constexpr LaneOf<V> kSecond = kIsDouble ? 6.07710050630396597660e-11 : 4.837512969970703125e-4;
  constexpr LaneOf<V> kThird = kIsDouble ? 2.02226624879595063154e-21 : 7.5495336204767227173e-8;
  constexpr LaneOf<V> kFourth = kIsDouble ? 0 : 2.56334415159e-12;
  shifted = simdMulAdd(x, (LaneOf<V>)0.636619772367581343076, kSimdRound<V>);
  const V n = shifted - kSimdRound<V>;
  const V r = simdMulAdd(n, -kThird, simdMulAdd(n, -kSecond, simdMulAdd(n, -kFirst, x)));
  return kFourth == 0 ? r : simdMulAdd(n, -kFourth, r);
}
template <class V>
constexpr LaneOf<V> kSimdMostAngle = kSimdDouble<V> ? 1e5 : 1e4;

// Of |r| <= pi / 4.
template <class V>
__forceinline__ V simdSinNear0(V r) {
  const V square = r * r;
  if constexpr (kSimdDouble<V>) {
    constexpr double c[] = {-0.16666666666666665,  0.0083333333333309246,  -0.00019841269836722418,
                            2.7557316083816359e-6, -2.5051127944014188e-8, 1.5917848524808261e-10};
    return simdMulAdd(r * square, simdPolynomial(square, c), r);
  } else {
    constexpr float c[] = {-0.166666552f, 0.00833215564f, -0.00019514632f};
    return simdMulAdd(r * square, simdPolynomial(square, c), r);
  }
}
template <class V>
__forceinline__ V simdCosNear0(V r) {
  const V square = r * r, begin = simdMulAdd(square, (LaneOf<V>)-0.5, (LaneOf<V>)1);
  if constexpr (kSimdDouble<V>) {
    constexpr double c[] = {0.041666666666666665,  -0.0013888888888887382,
                            2.4801587298743069e-5, -2.7557317260008838e-7,
                            2.0876143827993132e-9, -1.1382456778061306e-11};
    return simdMulAdd(square * square, simdPolynomial(square, c), begin);
  } else {
    constexpr float c[] = {0.0416666456f, -0.00138873095f, 2.44324128e-05f};
    return simdMulAdd(square * square, simdPolynomial(square, c), begin);
  }
}
// Beyond that: r in double, half as many lanes each, and n.
constexpr float kSimdMostFarAngle = 1e6f;
template <class V>
__forceinline__ V simdFarQuarter(V x, MaskOf<V>& n) {
  constexpr int kPart = kLanes<V> < kSimdFloats / 2 ? kLanes<V> : kSimdFloats / 2;
  using D = Simd<double, kPart>;
  float angle[kLanes<V>], count[kLanes<V>];
  simdStore(angle, x);
  for (int i = 0; i < kLanes<V>; i += kPart) {
    D shifted;
    const D r = simdQuarter(__builtin_convertvector(simdLoad<kPart>(angle + i), D), shifted);
    simdStore(angle + i, __builtin_convertvector(r, Simd<float, kPart>));
    simdStore(count + i, __builtin_convertvector(shifted - kSimdRound<D>, Simd<float, kPart>));
  }
  n = __builtin_convertvector(simdLoad<kLanes<V>>(count), MaskOf<V>);
  return simdLoad<kLanes<V>>(angle);
}
// f(r, n) of n pi / 2 + r, or `exact` of each angle that is not taken apart. f(r, n) knows angles
// but for the sign of zero.
template <class V, class Function, class Exact>
__forceinline__ V simdOfAngle(V x, Function f, Exact exact) {
  V result;
  if (__builtin_expect(simdAny(simdAbs(x) >= kSimdMostAngle<V>), 0)) {
    if (kSimdDouble<V> || simdAny(simdAbs(x) >= (LaneOf<V>)kSimdMostFarAngle)) {
      return simdMap(x, exact);
    }
    if constexpr (!kSimdDouble<V>) {
      MaskOf<V> n;
      const V r = simdFarQuarter(x, n);
      result = f(r, n);
    }
  } else {
    V shifted;
    const V r = simdQuarter(x, shifted);
    result = f(r, (MaskOf<V>)shifted);
  }
  return result;
}
template <int kQuadrant, class V>
__forceinline__ V simdSinCos(V r, MaskOf<V> n) {
  const MaskOf<V> quadrant = n + kQuadrant;
  const V result = (quadrant & 1) != 0 ? simdCosNear0(r) : simdSinNear0(r);
  return (V)((MaskOf<V>)result ^ ((quadrant & 2) << (sizeof(LaneOf<V>) * 8 - 2)));
}
template <class V>
__forceinline__ V simdSin(V x) {
  const V result = simdOfAngle(
      x, [](V r, MaskOf<V> n) __attribute__((always_inline)) { return simdSinCos<0>(r, n); },
      [](LaneOf<V> v) { return kSimdDouble<V> ? __builtin_sin(v) : __builtin_sinf(v); });
  return x == 0 ? x : result;
}
template <class V>
__forceinline__ V simdCos(V x) {
  return simdOfAngle(
      x, [](V r, MaskOf<V> n) __attribute__((always_inline)) { return simdSinCos<1>(r, n); },
      [](LaneOf<V> v) { return kSimdDouble<V> ? __builtin_cos(v) : __builtin_cosf(v); });
}
template <class V>
__forceinline__ V simdTan(V x) {
  const V result = simdOfAngle(
      x,
      [](V r, MaskOf<V> n) __attribute__((always_inline)) {
        const V sine = simdSinNear0(r), cosine = simdCosNear0(r);
        const auto odd = (n & 1) != 0;
        return (odd ? -cosine : sine) / (odd ? sine : cosine);
      },
      [](LaneOf<V> v) { return kSimdDouble<V> ? __builtin_tan(v) : __builtin_tanf(v); });
  return x == 0 ? x : result;
}

template <class V>
constexpr LaneOf<V> kSimdPi = 3.14159265358979323846;
/// What is left of pi.
template <class V>
constexpr LaneOf<V> kSimdPiLow = kSimdDouble<V> ? 1.22464679914735317723e-16 : -8.74227766e-8;
/// times * pi - x.
template <class V>
__forceinline__ V simdFromPi(LaneOf<V> times, V x) {
  return (times * kSimdPi<V> - x) + times * kSimdPiLow<V>;
}

// The angle of low / high, 0 <= low <= high.
template <class V>
__forceinline__ V simdAtanBelow1(V low, V high) {
  const auto far = low > high * (LaneOf<V>)0.41421356237309504880;  // tan(pi / 8)
  const V z = (far ? low - high : low) / (far ? low + high : high), square = z * z;
  V more;
  if constexpr (kSimdDouble<V>) {
    constexpr double c[] = {-0.33333333333333333,  0.19999999999999804,   -0.14285714285659728,
                            0.11111111105145725,   -0.090909087530171783, 0.076922963610482178,
                            -0.066664246345993367, 0.058789261105281008,  -0.052304330074828921,
                            0.045514962374949303,  -0.034568068014968877, 0.016282993238924487};
    more = simdPolynomial(square, c);
  } else {
    constexpr float c[] = {-0.333333318f, 0.199995401f, -0.142639439f, 0.107436051f,
                           -0.0645150952f};
    more = simdPolynomial(square, c);
  }
  const V near = simdMulAdd(z * square, more, z);
  return far ? simdFromPi((LaneOf<V>)0.25, -near) : near;
}
template <class V>
__forceinline__ V simdAtan(V x) {
  const V size = simdAbs(x), one = V{} + 1;
  const auto beyond = size > 1;
  const V angle = simdAtanBelow1(beyond ? one : size, beyond ? size : one);
  return simdCopySign(beyond ? simdFromPi((LaneOf<V>)0.5, angle) : angle, x);
}
template <class V>
__forceinline__ V simdAtan2(V y, V x) {
  const V across = simdAbs(x), up = simdAbs(y);
  const auto steep = up > across;
  V low = steep ? across : up, high = steep ? up : across;
  // A sum of both has to fit, a quotient of zeros and of infinities to be one.
  const V part = high > (LaneOf<V>)0.25 / kSimdLeast<V> ? V{} + (LaneOf<V>)0.25 : V{} + 1;
  const auto both = low == kSimdInfinity<V>;
  low = both ? V{} + 1 : low * part;
  high = both | (high == 0) ? V{} + 1 : high * part;
  V angle = simdAtanBelow1(low, high);
  angle = steep ? simdFromPi((LaneOf<V>)0.5, angle) : angle;
  angle = (MaskOf<V>)x < 0 ? simdFromPi((LaneOf<V>)1, angle) : angle;
  return (x != x) | (y != y) ? x + y : simdCopySign(angle, y);
}

// The arc sine of |x|, or from 1/2 on that of the root of (1 - |x|) / 2, which is half of what is
// missing to pi / 2.
template <class V>
__forceinline__ V simdAsinPart(V size) {
  const auto small = size <= (LaneOf<V>)0.5;
  const V square = small ? size * size : (1 - size) * (LaneOf<V>)0.5;
  const V s = small ? size : simdSqrt(square);
  V more;
  if constexpr (kSimdDouble<V>) {
    constexpr double c[] = {0.16666666666666668,   0.074999999999984329, 0.04464285714635543,
                            0.030381944138531247,  0.022372172942149888, 0.017352392720869973,
                            0.013971212973552933,  0.011479177415184906, 0.010322814350185779,
                            0.0054575067186403583, 0.017400879442694022, -0.014851887071247203,
                            0.028757851367421565};
    more = simdPolynomial(square, c);
  } else {
    constexpr float c[] = {0.166666663f,  0.0750009454f, 0.0445994015f,
                           0.0311006627f, 0.0171492384f, 0.0336908472f};
    more = simdPolynomial(square, c);
  }
  return simdMulAdd(s * square, more, s);
}
template <class V>
__forceinline__ V simdAsin(V x) {
  const V size = simdAbs(x), part = simdAsinPart(size);
  return simdCopySign(size > (LaneOf<V>)0.5 ? simdFromPi((LaneOf<V>)0.5, part + part) : part, x);
}
template <class V>
__forceinline__ V simdAcos(V x) {
  const V size = simdAbs(x), part = simdAsinPart(size);
  const V outside = x < 0 ? simdFromPi((LaneOf<V>)1, part + part) : part + part;
  return size > (LaneOf<V>)0.5 ? outside : simdFromPi((LaneOf<V>)0.5, simdCopySign(part, x));
}
