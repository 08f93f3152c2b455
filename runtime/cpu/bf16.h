// bf16_t: the upper half of a float, as storage; the same conversions as on the GPU.
//
// needs: cpu/prelude.h
struct alignas(2) bf16_t {
  u16 bits;

  bf16_t() = default;
  __forceinline__ explicit bf16_t(float x) {
    u32 f = __float_as_uint(x);
    u32 rounded = (f + 0x7fffu + ((f >> 16) & 1u)) >> 16;
    bits = (f & 0x7fffffffu) > 0x7f800000u ? (u16)0x7fff : (u16)rounded;
  }
  __forceinline__ explicit operator float() const { return __uint_as_float((u32)bits << 16); }
  static __forceinline__ bf16_t fromBits(u16 bits) {
    bf16_t b;
    b.bits = bits;
    return b;
  }
};
