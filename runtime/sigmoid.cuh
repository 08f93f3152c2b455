// 1 / (1 + exp(−x)). A float's reciprocal is the processor's own: right to 1 ulp (PTX:
// rcp.approx.f32), also where it is subnormal, and several times shorter than an exact division.
//
// needs: basics.cuh
__device__ __forceinline__ float sigmoid(float x) {
  float y = 1.0f + expf(-x);
#ifdef NVFUSER_EMULATED
  return 1.0f / y;
#else
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(y));
  return y;
#endif
}
__device__ __forceinline__ double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
