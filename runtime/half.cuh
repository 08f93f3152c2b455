// half_t: IEEE binary16 as storage. Arithmetic happens in float; the conversions are explicit.
//
//   half_t h(x)   from float (or anything that converts to float): nearest, ties to even; overflow
//                 gives infinity; any NaN gives 0x7fff, as the hardware does
//   float(h)      exact
//   half_t::fromBits(u16), h.bits
//
// needs: basics.cuh
struct alignas(2) half_t {
  u16 bits;

  half_t() = default;
  __device__ __forceinline__ explicit half_t(float x);
  __device__ __forceinline__ explicit operator float() const;
  __device__ static __forceinline__ half_t fromBits(u16 bits) {
    half_t h;
    h.bits = bits;
    return h;
  }
};

#ifdef NVFUSER_EMULATED
inline half_t::half_t(float x) {
  u32 f = __float_as_uint(x);
  u32 sign = (f >> 16) & 0x8000u;
  u32 magnitude = f & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    bits = 0x7fff;
  } else if (magnitude >= 0x477ff000u) {  // 65520 and more
    bits = (u16)(sign | 0x7c00u);
  } else if (magnitude >= 0x38800000u) {  // normal: drop 13 bits, rebias by 112
    u32 rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    bits = (u16)(sign | ((rounded - 0x38000000u) >> 13));
  } else {  // subnormal: in units of 2^-24, exact in float before the rounding
    bits = (u16)(sign | (u32)__builtin_rintf(__uint_as_float(magnitude) * 16777216.0f));
  }
}
inline half_t::operator float() const {
  u32 sign = (u32)(bits & 0x8000u) << 16;
  u32 exponent = (bits >> 10) & 31u;
  u32 fraction = bits & 0x3ffu;
  if (exponent == 31) {
    return __uint_as_float(sign | 0x7f800000u | (fraction << 13));
  }
  if (exponent != 0) {
    return __uint_as_float(sign | ((exponent + 112u) << 23) | (fraction << 13));
  }
  float magnitude = (float)fraction * (1.0f / 16777216.0f);
  return sign ? -magnitude : magnitude;
}
#else
__device__ __forceinline__ half_t::half_t(float x) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
}
__device__ __forceinline__ half_t::operator float() const {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
#endif
