// What every generated host kernel begins with: names of integers, the few words of CUDA that
// snippets shared with the GPU use (philox.cuh, welford.cuh, …), and libm. No system header is
// included: they take longer than the kernel.
//
//   i8 … u64, int8_t … uint64_t
//   bitCast<To>(from)       same size, same bits; a bool is whether any is set
//   infinity<T>(), quietNan<T>(), largest<T>(), lowest<T>() for float and double
//   ceilDiv(a, b)           quotient rounded up; 0 for a divisor of 0
//   sincospif, sincospi     sine and cosine of a number of half turns
//
// needs:
#define NVFUSER_HOST 1
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

using i8 = int8_t;
using u8 = uint8_t;
using i16 = int16_t;
using u16 = uint16_t;
using i32 = int32_t;
using u32 = uint32_t;
using i64 = int64_t;
using u64 = uint64_t;

template <class To, class From>
__forceinline__ constexpr To bitCast(const From& from) {
  if constexpr (__is_same(To, bool)) {
    return __builtin_bit_cast(u8, from) != 0;  // compilers count on one bit of a bool
  } else {
    return __builtin_bit_cast(To, from);
  }
}

inline float __uint_as_float(u32 bits) { return bitCast<float>(bits); }
inline u32 __float_as_uint(float x) { return bitCast<u32>(x); }
inline float __int_as_float(i32 bits) { return bitCast<float>(bits); }
inline i32 __float_as_int(float x) { return bitCast<i32>(x); }
inline double __longlong_as_double(long long bits) { return bitCast<double>(bits); }
inline long long __double_as_longlong(double x) { return bitCast<long long>(x); }

// libm, under the names that shared snippets use; generated text says __builtin_expf and so on.
extern "C" {
float sqrtf(float);
double sqrt(double);
float expf(float);
double exp(double);
float logf(float);
double log(double);
float sinf(float);
double sin(double);
float cosf(float);
double cos(double);
float tanhf(float);
double tanh(double);
float fabsf(float);
double fabs(double);
float fmaf(float, float, float);
double fma(double, double, double);
}

// C's pow under a name that the compiler does not know: of an exponent of 1/2 it makes a square
// root, which is -0 of -0 and no number of -inf.
float powReal(float, float) noexcept __asm__("powf");
double powReal(double, double) noexcept __asm__("pow");

inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }

// Reduced to a quarter turn, exactly; what is left is within ±1/4 of a half turn.
inline void sincospi(double x, double* s, double* c) {
  double quarters = __builtin_rint(x * 2);
  double r = (x - quarters * 0.5) * 3.14159265358979323846;
  double sine = __builtin_sin(r), cosine = __builtin_cos(r);
  i64 quadrant = (i64)quarters & 3;
  double first = quadrant & 1 ? cosine : sine, second = quadrant & 1 ? sine : cosine;
  *s = quadrant & 2 ? -first : first;
  *c = quadrant == 1 || quadrant == 2 ? -second : second;
}
inline void sincospif(float x, float* s, float* c) {
  double sine, cosine;
  sincospi(x, &sine, &cosine);
  *s = (float)sine;
  *c = (float)cosine;
}

template <class T>
T infinity();
template <>
inline float infinity<float>() {
  return __builtin_inff();
}
template <>
inline double infinity<double>() {
  return __builtin_inf();
}
template <class T>
T quietNan();
template <>
inline float quietNan<float>() {
  return __builtin_nanf("");
}
template <>
inline double quietNan<double>() {
  return __builtin_nan("");
}
template <class T>
T largest();
template <>
inline float largest<float>() {
  return __FLT_MAX__;
}
template <>
inline double largest<double>() {
  return __DBL_MAX__;
}
template <class T>
T lowest() {
  return -largest<T>();
}

template <class A, class B>
using Common = decltype(true ? A() : B());

template <class A, class B>
constexpr Common<A, B> ceilDiv(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  if (y == T(0)) {
    return T(0);
  }
  if (T(-1) < T(0) && y == T(-1)) {
    return (T)(0 - (u64)x);
  }
  T quotient = x / y, rest = x % y;
  return (T)(quotient + (rest != T(0) && (rest < T(0)) == (y < T(0)) ? 1 : 0));
}
