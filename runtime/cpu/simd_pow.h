// Powers of vectors of float: 1.5 ulp over all floats. V is Simd<float, N>.
//
//   simdPow(x, y)
//
// needs: cpu/simd_math.h
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
  V result = simdScale(simdExp2Near0(f), n + kSimdRound<V>);
  return simdAny(base <= 0.0f) ? simdPowSigned(result, base, y) : result;
}
