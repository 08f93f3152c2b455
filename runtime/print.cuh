// printValue(x): writes a value to standard output, one a line, and gives it back.
//
// needs: basics.cuh
__device__ inline float printValue(float x) { return printf("%.9g\n", (double)x), x; }
__device__ inline double printValue(double x) { return printf("%.17g\n", x), x; }
__device__ inline bool printValue(bool x) { return printf("%s\n", x ? "true" : "false"), x; }
template <class T>
__device__ inline T printValue(T x) {
  if constexpr (T(-1) > T(0)) {
    printf("%llu\n", (u64)x);
  } else {
    printf("%lld\n", (i64)x);
  }
  return x;
}
template <template <class> class Complex, class T>
__device__ inline Complex<T> printValue(Complex<T> z) {
  return printf("%.17g%+.17gi\n", (double)z.re, (double)z.im), z;
}
