// bf16_t: the upper half of a float, as storage. Arithmetic happens in float; the conversions are
// explicit.
//
//   bf16_t b(x)   from float (or anything that converts to float): nearest, ties to even; overflow
//                 gives infinity; any NaN gives 0x7fff, as the hardware does
//   float(b)      exact
//   bf16_t::fromBits(u16), b.bits
//   floatAt(v, i)  float(v[i]) of registers that are aligned as pairs are: one operation on the
//                  pair's word, where an upper half by itself takes two
//
// needs: basics.cuh
struct alignas(2) bf16_t {
  u16 bits;

  bf16_t() = default;
  __device__ __forceinline__ explicit bf16_t(float x) {
#if !defined(NVFUSER_EMULATED) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#else
    u32 f = __float_as_uint(x);
    bits = (f & 0x7fffffffu) > 0x7f800000u ? (u16)0x7fff
                                           : (u16)((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
#endif
  }
  __device__ __forceinline__ explicit operator float() const {
    return __uint_as_float((u32)bits << 16);
  }
  __device__ static __forceinline__ bf16_t fromBits(u16 bits) {
    bf16_t b;
    b.bits = bits;
    return b;
  }
};
__device__ __forceinline__ float floatAt(const bf16_t* v, int i) {
#ifndef NVFUSER_EMULATED
  const u32 pair = *reinterpret_cast<const u32*>(v + (i & ~1));
  return __uint_as_float((i & 1) != 0 ? pair & 0xffff0000u : pair << 16);
#else
  return float(v[i]);
#endif
}
