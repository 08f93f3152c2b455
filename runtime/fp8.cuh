// fp8_e4m3_t (torch.float8_e4m3fn) and fp8_e5m2_t (torch.float8_e5m2) as storage. Arithmetic
// happens in float.
//
// From float: nearest, ties to even; subnormals kept. What rounds beyond the largest value becomes
// NaN in e4m3fn (which has no infinity) and infinity in e5m2. NaN becomes 0x7f with the sign kept.
// This is PyTorch's cast, not the saturating one of the hardware. To float: exact.
//
// needs: basics.cuh
__device__ __forceinline__ u8 fp8FromFloat(float x, int fraction_bits, int least_exponent,
                                           u32 overflow, u8 overflow_bits) {
  u32 f = __float_as_uint(x);
  u8 sign = (u8)((f >> 24) & 0x80u);
  u32 magnitude = f & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return (u8)(sign | 0x7f);
  }
  if (magnitude >= overflow) {
    return (u8)(sign | overflow_bits);
  }
  u32 drop = (u32)(23 - fraction_bits);
  u32 least_normal = (u32)(127 + least_exponent) << 23;
  if (magnitude >= least_normal) {
    u32 rounded = magnitude + ((1u << (drop - 1)) - 1u) + ((magnitude >> drop) & 1u);
    return (u8)(sign | ((rounded - ((u32)(126 + least_exponent) << 23)) >> drop));
  }
  // Subnormal: adding a power of two whose last place is the least subnormal rounds there.
  float anchor = __uint_as_float((u32)(127 + least_exponent + 23 - fraction_bits) << 23);
  return (u8)(sign |
              (__float_as_uint(__uint_as_float(magnitude) + anchor) - __float_as_uint(anchor)));
}

struct fp8_e4m3_t {
  u8 bits;

  fp8_e4m3_t() = default;
  __device__ __forceinline__ explicit fp8_e4m3_t(float x) {
#if !defined(NVFUSER_EMULATED) && __CUDA_ARCH__ >= 890
    u16 pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    u32 f = __float_as_uint(x);
    // 464 is the last value that rounds to 448.
    bits = (f & 0x7fffffffu) > 0x43e80000u ? (u8)(((f >> 24) & 0x80u) | 0x7fu) : (u8)pair;
#else
    bits = fp8FromFloat(x, 3, -6, 0x43e80001u, 0x7f);
#endif
  }
  __device__ __forceinline__ explicit operator float() const {
    u32 sign = (u32)(bits & 0x80u) << 24;
    u32 magnitude = bits & 0x7fu;
    if (magnitude == 0x7f) {
      return __uint_as_float(sign | 0x7fc00000u);
    }
    if (magnitude >= 8) {
      return __uint_as_float(sign | ((magnitude << 20) + (120u << 23)));
    }
    return __uint_as_float(__float_as_uint((float)magnitude * 0.001953125f) | sign);
  }
  __device__ static __forceinline__ fp8_e4m3_t fromBits(u8 bits) {
    fp8_e4m3_t f;
    f.bits = bits;
    return f;
  }
};

struct fp8_e5m2_t {
  u8 bits;

  fp8_e5m2_t() = default;
  __device__ __forceinline__ explicit fp8_e5m2_t(float x) {
#if !defined(NVFUSER_EMULATED) && __CUDA_ARCH__ >= 890
    u16 pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    u32 f = __float_as_uint(x);
    u32 magnitude = f & 0x7fffffffu;
    u8 sign = (u8)((f >> 24) & 0x80u);
    // 61440 and more round to infinity.
    bits = magnitude > 0x7f800000u    ? (u8)(sign | 0x7fu)
           : magnitude >= 0x47700000u ? (u8)(sign | 0x7cu)
                                      : (u8)pair;
#else
    bits = fp8FromFloat(x, 2, -14, 0x47700000u, 0x7c);
#endif
  }
  __device__ __forceinline__ explicit operator float() const {
    u32 sign = (u32)(bits & 0x80u) << 24;
    u32 magnitude = bits & 0x7fu;
    if (magnitude > 0x7c) {
      return __uint_as_float(sign | 0x7fc00000u);
    }
    if (magnitude == 0x7c) {
      return __uint_as_float(sign | 0x7f800000u);
    }
    if (magnitude >= 4) {
      return __uint_as_float(sign | ((magnitude << 21) + (112u << 23)));
    }
    return __uint_as_float(__float_as_uint((float)magnitude * 0.0000152587890625f) | sign);
  }
  __device__ static __forceinline__ fp8_e5m2_t fromBits(u8 bits) {
    fp8_e5m2_t f;
    f.bits = bits;
    return f;
  }
};
