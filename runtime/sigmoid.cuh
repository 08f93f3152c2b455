// 1 / (1 + exp(−x)), of a float by the processor's own reciprocal.
//
// needs: basics.cuh rounded.cuh
__device__ __forceinline__ float sigmoid(float x) { return reciprocalApprox(1.0f + expf(-x)); }
__device__ __forceinline__ double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
