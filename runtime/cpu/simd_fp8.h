// 8-bit floats in vectors: the conversions of fp8.h lane by lane, without branches.
//
//   simdToFp8Bits<T>(v)       floats to T's bits
//   simdFromFp8Bits<T>(v)     the other way
//
// needs: cpu/fp8.h cpu/lanes.h
template <>
struct LaneFor<fp8_e4m3_t> {
  typedef u8 lane;
  typedef u8 bits;
};
template <>
struct LaneFor<fp8_e5m2_t> {
  typedef u8 lane;
  typedef u8 bits;
};

template <class T>
struct Fp8Form;
template <>
struct Fp8Form<fp8_e4m3_t> {
  static constexpr int kFractionBits = 3, kLeastExponent = -6;
  static constexpr u32 kOverflow = 0x43e80001u, kOverflowBits = 0x7f;
  static constexpr u32 kInfinity = 0x7f;  // there is none: this is NaN
  static constexpr float kScale = 0x1p120f;
};
template <>
struct Fp8Form<fp8_e5m2_t> {
  static constexpr int kFractionBits = 2, kLeastExponent = -14;
  static constexpr u32 kOverflow = 0x47700000u, kOverflowBits = 0x7c;
  static constexpr u32 kInfinity = 0x7c;
  static constexpr float kScale = 0x1p112f;
};

template <class T, class V>
__forceinline__ Simd<u8, kLanes<V>> simdToFp8Bits(V x) {
  using Form = Fp8Form<T>;
  constexpr int N = kLanes<V>;
  using U = Simd<u32, N>;
  constexpr u32 kDrop = 23 - Form::kFractionBits;
  constexpr u32 kLeastNormal = (u32)(127 + Form::kLeastExponent) << 23;
  constexpr u32 kAnchor = (u32)(127 + Form::kLeastExponent + 23 - Form::kFractionBits) << 23;
  const U f = (U)x;
  const U sign = (f >> 24) & 0x80u;
  const U magnitude = f & 0x7fffffffu;
  const U normal = (magnitude + ((1u << (kDrop - 1)) - 1u) + ((magnitude >> kDrop) & 1u) -
                    ((u32)(126 + Form::kLeastExponent) << 23)) >>
                   kDrop;
  const V anchor = (V)(U{} + kAnchor);
  const U small = (U)((V)magnitude + anchor) - kAnchor;
  U value = magnitude < kLeastNormal ? small : normal;
  value = magnitude >= Form::kOverflow ? U{} + Form::kOverflowBits : value;
  value = magnitude > 0x7f800000u ? U{} + 0x7fu : value;
  return lanesNarrow<u8>((Simd<i32, N>)(sign | value));
}

template <class T, class V>
__forceinline__ Simd<float, kLanes<V>> simdFromFp8Bits(V bits) {
  using Form = Fp8Form<T>;
  constexpr int N = kLanes<V>;
  using U = Simd<u32, N>;
  const U wide = (U)lanesWiden(bits);
  const U sign = (wide & 0x80u) << 24;
  const U magnitude = wide & 0x7fu;
  U f = (U)((Simd<float, N>)(magnitude << (23 - Form::kFractionBits)) * Form::kScale);
  f = magnitude == Form::kInfinity ? U{} + 0x7f800000u : f;
  constexpr u32 kFirstNan = Form::kInfinity == 0x7f ? 0x7f : Form::kInfinity + 1;
  f = magnitude >= kFirstNan ? U{} + 0x7fc00000u : f;
  return (Simd<float, N>)(sign | f);
}
