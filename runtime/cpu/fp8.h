// fp8_e4m3_t (torch.float8_e4m3fn) and fp8_e5m2_t (torch.float8_e5m2) as storage; the same
// conversions as fp8.cuh: nearest, ties to even, subnormals kept; overflow gives NaN in e4m3fn,
// which has no infinity, and infinity in e5m2.
//
// needs: cpu/prelude.h
template <int kFractionBits, int kLeastExponent>
__forceinline__ u8 fp8FromFloat(float x, u32 overflow, u32 overflow_bits) {
  constexpr u32 kDrop = 23 - kFractionBits;
  constexpr u32 kLeastNormal = (u32)(127 + kLeastExponent) << 23;
  constexpr u32 kAnchor = (u32)(127 + kLeastExponent + 23 - kFractionBits) << 23;
  u32 f = __float_as_uint(x);
  u32 sign = (f >> 24) & 0x80u, magnitude = f & 0x7fffffffu;
  u32 normal = (magnitude + ((1u << (kDrop - 1)) - 1u) + ((magnitude >> kDrop) & 1u) -
                ((u32)(126 + kLeastExponent) << 23)) >>
               kDrop;
  // Adding a power of two whose last place is the least subnormal rounds there.
  u32 small = __float_as_uint(__uint_as_float(magnitude) + __uint_as_float(kAnchor)) - kAnchor;
  u32 value = magnitude < kLeastNormal ? small : normal;
  value = magnitude >= overflow ? overflow_bits : value;
  value = magnitude > 0x7f800000u ? 0x7fu : value;
  return (u8)(sign | value);
}

struct fp8_e4m3_t {
  u8 bits;

  fp8_e4m3_t() = default;
  __forceinline__ explicit fp8_e4m3_t(float x) { bits = fp8FromFloat<3, -6>(x, 0x43e80001u, 0x7f); }
  __forceinline__ explicit operator float() const {
    u32 sign = (u32)(bits & 0x80u) << 24, magnitude = bits & 0x7fu;
    u32 f = __float_as_uint(__uint_as_float(magnitude << 20) * 0x1p120f);
    return __uint_as_float(sign | (magnitude == 0x7f ? 0x7fc00000u : f));
  }
  static __forceinline__ fp8_e4m3_t fromBits(u8 bits) {
    fp8_e4m3_t f;
    f.bits = bits;
    return f;
  }
};

struct fp8_e5m2_t {
  u8 bits;

  fp8_e5m2_t() = default;
  __forceinline__ explicit fp8_e5m2_t(float x) {
    bits = fp8FromFloat<2, -14>(x, 0x47700000u, 0x7c);
  }
  __forceinline__ explicit operator float() const {
    u32 sign = (u32)(bits & 0x80u) << 24, magnitude = bits & 0x7fu;
    u32 f = __float_as_uint(__uint_as_float(magnitude << 21) * 0x1p112f);
    f = magnitude == 0x7c ? 0x7f800000u : f;
    return __uint_as_float(sign | (magnitude > 0x7c ? 0x7fc00000u : f));
  }
  static __forceinline__ fp8_e5m2_t fromBits(u8 bits) {
    fp8_e5m2_t f;
    f.bits = bits;
    return f;
  }
};
