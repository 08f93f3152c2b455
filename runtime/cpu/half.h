// half_t: IEEE binary16 as storage; the same conversions as half.cuh, written without branches so
// that loops over them become vector instructions.
//
// needs: cpu/prelude.h
struct alignas(2) half_t {
  u16 bits;

  half_t() = default;
  __forceinline__ explicit half_t(float x) {
    u32 f = __float_as_uint(x);
    u32 sign = (f >> 16) & 0x8000u, magnitude = f & 0x7fffffffu;
    u32 normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    // Below 2^-14 in units of 2^-24: adding a half makes that the last place.
    u32 small = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000u;
    u32 finite = magnitude < 0x38800000u ? small : normal;
    u32 value = magnitude >= 0x477ff000u ? 0x7c00u : finite;  // 65520 and more
    bits = magnitude > 0x7f800000u ? (u16)0x7fff : (u16)(sign | value);
  }
  __forceinline__ explicit operator float() const {
    u32 sign = (u32)(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    // 2^112 moves the exponent's bias, for subnormals too.
    u32 f = __float_as_uint(__uint_as_float(magnitude << 13) * 0x1p112f);
    f |= magnitude >= 0x7c00u ? 0x7f800000u : 0;
    return __uint_as_float(sign | f);
  }
  static __forceinline__ half_t fromBits(u16 bits) {
    half_t h;
    h.bits = bits;
    return h;
  }
};
