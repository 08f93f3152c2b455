// Functions of float for results that are rounded to 16 bits, from the processor's own
// approximations. Zeros, infinities, NaN and subnormal numbers as the exact functions have them.
//
//   reciprocalApprox(x)  1 / x to 1 ulp (PTX: rcp.approx.f32), much shorter than a division
//   expRounded(x)        exp(x) to |x| 1e-7 relative: 1e-5 where it is finite (PTX: ex2.approx.f32)
//   sigmoidRounded(x)    1 / (1 + exp(-x)), likewise
//   divideRounded(x, s)  x / s to 2 ulp; all that is divided by one s shares its reciprocal
//
// needs: basics.cuh
__device__ __forceinline__ float reciprocalApprox(float x) {
#ifdef NVFUSER_EMULATED
  return 1.0f / x;
#else
  asm("rcp.approx.f32 %0, %1;" : "=f"(x) : "f"(x));
  return x;
#endif
}
__device__ __forceinline__ float expRounded(float x) {
#ifdef NVFUSER_EMULATED
  return expf(x);
#else
  x *= 1.44269504f;
  asm("ex2.approx.f32 %0, %1;" : "=f"(x) : "f"(x));
  return x;
#endif
}
__device__ __forceinline__ float sigmoidRounded(float x) {
  return reciprocalApprox(1.0f + expRounded(-x));
}
// The reciprocal of a number beyond 2^126 is subnormal and has few digits, that of a subnormal one
// may be beyond all numbers: these are scaled.
__device__ __forceinline__ float divideRounded(float x, float s) {
  const float magnitude = fabsf(s);
  const float scale = magnitude > 0x1p126f ? 0x1p-64f : magnitude < 0x1p-126f ? 0x1p64f : 1.0f;
  return x * reciprocalApprox(s * scale) * scale;
}
