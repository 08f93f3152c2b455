// printValue(x): writes a value to standard output, one a line, and gives it back.
//
// needs: cpu/prelude.h
extern "C" int printf(const char* format, ...);

inline float printValue(float x) { return printf("%.9g\n", (double)x), x; }
inline double printValue(double x) { return printf("%.17g\n", x), x; }
inline bool printValue(bool x) { return printf("%s\n", x ? "true" : "false"), x; }
template <class T>
inline T printValue(T x) {
  if constexpr (requires { x.im; }) {
    printf("%.17g%+.17gi\n", (double)x.re, (double)x.im);
  } else if constexpr (T(-1) > T(0)) {
    printf("%llu\n", (unsigned long long)x);
  } else {
    printf("%lld\n", (long long)x);
  }
  return x;
}
