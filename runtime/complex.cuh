// complex<T>, T float or double, with PyTorch's results: division by scaling (Smith), abs without
// overflow, branch cuts as in C99 (signed zeros choose the side), infinities and NaN as in its
// Annex G; products, quotients and powers have them as their formulas give them.
//
//   + − * / (also with T), ==, !=, z.real(), z.imag(), abs, arg, conj, norm (squared abs)
//   exp log log2 log10 log1p expm1 exp2 sqrt rsqrt pow sin cos tan sinh cosh tanh asin acos atan
//     asinh acosh atanh
//   reciprocal, sigmoid, square, isNan, isFinite
//
// needs: basics.cuh
template <class T>
struct alignas(2 * sizeof(T)) complex {
  T re;
  T im;

  complex() = default;
  __device__ __forceinline__ constexpr complex(T r, T i = T(0)) : re(r), im(i) {}
  template <class U>
  __device__ __forceinline__ explicit constexpr complex(const complex<U>& z)
      : re(T(z.re)), im(T(z.im)) {}
#ifdef NVFUSER_EMULATED
  // Field by field: the hooks that the compiler inserts do not see what a function that returns a
  // struct stores straight into memory.
  complex(const complex&) = default;
  complex& operator=(const complex& z) {
    re = z.re;
    im = z.im;
    return *this;
  }
#endif

  __device__ __forceinline__ constexpr T real() const { return re; }
  __device__ __forceinline__ constexpr T imag() const { return im; }
};

template <class T>
__device__ __forceinline__ complex<T> conj(const complex<T>& z) {
  return {z.re, -z.im};
}
template <class T>
__device__ __forceinline__ complex<T> operator-(const complex<T>& z) {
  return {-z.re, -z.im};
}
template <class T>
__device__ __forceinline__ complex<T> operator+(const complex<T>& a, const complex<T>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
__device__ __forceinline__ complex<T> operator-(const complex<T>& a, const complex<T>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
__device__ __forceinline__ complex<T> operator*(const complex<T>& a, const complex<T>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// What both parts of a quotient are multiplied by, a power of two: 1 over the divisor may be beyond
// all numbers, or lose its digits, where the quotient is not and does not.
template <class T>
__device__ __forceinline__ T quotientScale(T size) {
  constexpr bool kIsFloat = sizeof(T) == 4;
  constexpr T kTiny = kIsFloat ? T(1e-24) : T(1e-150), kHuge = kIsFloat ? T(1e24) : T(1e150);
  constexpr T kUp = kIsFloat ? T(281474976710656) : T(1.6069380442589903e60);  // 2^48, 2^200
  return size < kTiny ? kUp : size > kHuge ? T(1) / kUp : T(1);
}
template <class T>
__device__ __forceinline__ complex<T> operator/(const complex<T>& a, const complex<T>& b) {
  T x = fabs(b.re), y = fabs(b.im), up = quotientScale(x >= y ? x : y);
  complex<T> p = {a.re * up, a.im * up}, q = {b.re * up, b.im * up};
  if (x >= y) {
    if (x == T(0) && y == T(0)) {
      return {a.re / x, a.im / y};
    }
    T ratio = q.im / q.re;
    T scale = T(1) / (q.re + q.im * ratio);
    return {(p.re + p.im * ratio) * scale, (p.im - p.re * ratio) * scale};
  }
  T ratio = q.re / q.im;
  T scale = T(1) / (q.im + q.re * ratio);
  return {(p.re * ratio + p.im) * scale, (p.im * ratio - p.re) * scale};
}
#define NVF_COMPLEX_SCALAR(op)                                                  \
  template <class T>                                                            \
  __device__ __forceinline__ complex<T> operator op(const complex<T>& a, T b) { \
    return a op complex<T>(b);                                                  \
  }                                                                             \
  template <class T>                                                            \
  __device__ __forceinline__ complex<T> operator op(T a, const complex<T>& b) { \
    return complex<T>(a) op b;                                                  \
  }
NVF_COMPLEX_SCALAR(+)
NVF_COMPLEX_SCALAR(-)
#undef NVF_COMPLEX_SCALAR
template <class T>
__device__ __forceinline__ complex<T> operator*(const complex<T>& a, T b) {
  return {a.re * b, a.im * b};
}
template <class T>
__device__ __forceinline__ complex<T> operator*(T a, const complex<T>& b) {
  return {a * b.re, a * b.im};
}
template <class T>
__device__ __forceinline__ complex<T> operator/(const complex<T>& a, T b) {
  return {a.re / b, a.im / b};
}
template <class T>
__device__ __forceinline__ complex<T> operator/(T a, const complex<T>& b) {
  return complex<T>(a) / b;
}
template <class T>
__device__ __forceinline__ bool operator==(const complex<T>& a, const complex<T>& b) {
  return a.re == b.re && a.im == b.im;
}
template <class T>
__device__ __forceinline__ bool operator!=(const complex<T>& a, const complex<T>& b) {
  return !(a == b);
}

template <class T>
__device__ __forceinline__ bool isNan(const complex<T>& z) {
  return z.re != z.re || z.im != z.im;
}
template <class T>
__device__ __forceinline__ bool isFinite(const complex<T>& z) {
  return fabs(z.re) < infinity<T>() && fabs(z.im) < infinity<T>();
}
__device__ __forceinline__ float abs(const complex<float>& z) { return hypotf(z.re, z.im); }
__device__ __forceinline__ double abs(const complex<double>& z) { return hypot(z.re, z.im); }
template <class T>
__device__ __forceinline__ T arg(const complex<T>& z) {
  return atan2(z.im, z.re);
}
template <class T>
__device__ __forceinline__ T norm(const complex<T>& z) {
  return z.re * z.re + z.im * z.im;
}
template <class T>
__device__ __forceinline__ complex<T> polar(T radius, T angle) {
  return {radius * cos(angle), radius * sin(angle)};
}
template <class T>
__device__ __forceinline__ complex<T> square(const complex<T>& z) {
  return z * z;
}
template <class T>
__device__ __forceinline__ complex<T> reciprocal(const complex<T>& z) {
  return complex<T>(T(1)) / z;
}
// Multiplication by i and by −i, exact also for infinities.
template <class T>
__device__ __forceinline__ complex<T> timesI(const complex<T>& z) {
  return {-z.im, z.re};
}
template <class T>
__device__ __forceinline__ complex<T> timesMinusI(const complex<T>& z) {
  return {z.im, -z.re};
}

// Infinities and NaN below are as C has them (Annex G); signs that it leaves open are glibc's.
template <class T>
__device__ __forceinline__ bool isInfinite(T x) {
  return fabs(x) == infinity<T>();
}

template <class T>
__device__ __forceinline__ complex<T> exp(const complex<T>& z) {
  if (z.im == T(0)) {
    return {exp(z.re), z.im};
  }
  if (z.re == T(0)) {
    return {cos(z.im), sin(z.im)};
  }
  if (!(fabs(z.im) < infinity<T>())) {
    if (z.re == -infinity<T>()) {
      return {T(0), copysign(T(0), z.im)};
    }
    return {z.re == infinity<T>() ? z.re : quietNan<T>(), quietNan<T>()};
  }
  // exp(x) may overflow where exp(x) cos(y) does not: halve the exponent.
  T s = sin(z.im), c = cos(z.im);
  T e = exp(z.re);
  if (e == infinity<T>() && z.re < infinity<T>()) {
    T half = exp(z.re * T(0.5));
    return {half * c * half, half * s * half};
  }
  return {e * c, e * s};
}
// log|z|
template <class T>
__device__ __forceinline__ T logAbs(const complex<T>& z) {
  T big = fmax(fabs(z.re), fabs(z.im)), small = fmin(fabs(z.re), fabs(z.im));
  if (isNan(z)) {
    return big == infinity<T>() ? big : quietNan<T>();
  }
  // Near the unit circle log|z| is small: (big − 1)(big + 1) + small² keeps its digits.
  if (big > T(0.5) && big < T(2)) {
    return log1p((big - T(1)) * (big + T(1)) + small * small) * T(0.5);
  }
  if (big > largest<T>() / T(4)) {  // |z| may overflow
    return log(abs(complex<T>(z.re * T(0.25), z.im * T(0.25)))) + T(1.3862943611198906188);
  }
  return log(abs(z));
}
template <class T>
__device__ __forceinline__ complex<T> log(const complex<T>& z) {
  return {logAbs(z), arg(z)};
}
template <class T>
__device__ __forceinline__ complex<T> log2(const complex<T>& z) {
  return log(z) * T(1.4426950408889634074);
}
template <class T>
__device__ __forceinline__ complex<T> log10(const complex<T>& z) {
  return log(z) * T(0.43429448190325182765);
}
// As log(1 + z), but exact near zero.
template <class T>
__device__ __forceinline__ complex<T> log1p(const complex<T>& z) {
  if (!(norm(z) < T(0.25))) {
    return log(complex<T>(T(1) + z.re, z.im));
  }
  return {log1p((T(2) + z.re) * z.re + z.im * z.im) * T(0.5), atan2(z.im, T(1) + z.re)};
}
// Whether |z| is so large that 1 beside z² is nothing, or z is infinite or NaN.
template <class T>
__device__ __forceinline__ bool isFar(const complex<T>& z) {
  constexpr T kFar = sizeof(T) == 4 ? T(1e6) : T(1e10);
  return !(fabs(z.re) < kFar && fabs(z.im) < kFar);
}
template <class T>
__device__ __forceinline__ complex<T> exp2(const complex<T>& z) {
  return exp(z * T(0.69314718055994530942));
}
template <class T>
__device__ __forceinline__ complex<T> expm1(const complex<T>& z) {
  if (z.im == T(0)) {
    return {expm1(z.re), z.im};
  }
  T half = sin(z.im * T(0.5));
  T e = expm1(z.re);
  return {e * cos(z.im) - T(2) * half * half, (e + T(1)) * sin(z.im)};
}
template <class T>
__device__ __forceinline__ complex<T> sqrt(const complex<T>& z) {
  if (z.re == T(0) && z.im == T(0)) {
    return {T(0), z.im};
  }
  if (fabs(z.im) == infinity<T>()) {
    return {infinity<T>(), z.im};
  }
  if (z.re == infinity<T>()) {
    return {z.re, isNan(z) ? quietNan<T>() : copysign(T(0), z.im)};
  }
  if (z.re == -infinity<T>()) {
    return {isNan(z) ? quietNan<T>() : T(0), copysign(infinity<T>(), z.im)};
  }
  // Scaling by 4 or 1/4 keeps the modulus in range and is exact.
  T big = fmax(fabs(z.re), fabs(z.im));
  T up = big < T(1e-30) ? T(67108864) : big > largest<T>() / T(8) ? T(0.25) : T(1);
  T root = big < T(1e-30) ? T(1) / T(8192) : big > largest<T>() / T(8) ? T(2) : T(1);
  complex<T> w = {z.re * up, z.im * up};
  T t = sqrt((fabs(w.re) + abs(w)) * T(0.5));
  if (w.re >= T(0)) {
    return {t * root, w.im / (T(2) * t) * root};
  }
  return {fabs(w.im) / (T(2) * t) * root, copysign(t, w.im) * root};
}
template <class T>
__device__ __forceinline__ complex<T> rsqrt(const complex<T>& z) {
  return complex<T>(T(1)) / sqrt(z);
}
template <class T>
__device__ __forceinline__ complex<T> pow(const complex<T>& a, const complex<T>& b) {
  if (b.re == T(0) && b.im == T(0)) {
    return {T(1), T(0)};
  }
  if (a.re == T(0) && a.im == T(0)) {
    return b.re > T(0) ? complex<T>(T(0)) : exp(b * log(a));
  }
  if (b.re == T(2) && b.im == T(0)) {
    return a * a;
  }
  return exp(b * log(a));
}
// sinh|x| · t and cosh x · t, which may fit where the first factor does not: half the exponent
// then.
template <class T>
__device__ __forceinline__ T sinhTimes(T x, T t) {
  T half = exp(x * T(0.5));
  return x > T(40) ? half * (T(0.5) * t) * half : sinh(x) * t;
}
template <class T>
__device__ __forceinline__ T coshTimes(T x, T t) {
  T half = exp(x * T(0.5));
  return x > T(40) ? half * (T(0.5) * t) * half : cosh(x) * t;
}
template <class T>
__device__ __forceinline__ complex<T> sinh(const complex<T>& z) {
  if (z.im == T(0)) {
    return {sinh(z.re), z.im};
  }
  if (!(fabs(z.im) < infinity<T>())) {
    T re = isInfinite(z.re) ? infinity<T>() : quietNan<T>();
    return {z.re == T(0) ? z.re : re, quietNan<T>()};
  }
  T x = fabs(z.re);
  return {copysign(T(1), z.re) * sinhTimes(x, cos(z.im)), coshTimes(x, sin(z.im))};
}
template <class T>
__device__ __forceinline__ complex<T> cosh(const complex<T>& z) {
  if (z.im == T(0)) {
    return {cosh(z.re), z.re != z.re ? z.im : copysign(T(1), z.re) * z.im};
  }
  if (!(fabs(z.im) < infinity<T>())) {
    return {isInfinite(z.re) ? infinity<T>() : quietNan<T>(), z.re == T(0) ? T(0) : quietNan<T>()};
  }
  T x = fabs(z.re);
  return {coshTimes(x, cos(z.im)), copysign(T(1), z.re) * sinhTimes(x, sin(z.im))};
}
template <class T>
__device__ __forceinline__ complex<T> tanh(const complex<T>& z) {
  if (!(fabs(z.im) < infinity<T>())) {
    if (isInfinite(z.re)) {
      return {copysign(T(1), z.re), copysign(T(0), z.im)};
    }
    return {z.re == T(0) ? z.re : quietNan<T>(), quietNan<T>()};
  }
  if (z.re != z.re) {
    return {z.re, z.im == T(0) ? z.im : z.re};
  }
  if (fabs(z.re) > T(22)) {  // cosh² would overflow long before tanh changes
    T e = exp(T(-2) * fabs(z.re));
    return {copysign(T(1), z.re), T(4) * sin(z.im) * cos(z.im) * e};
  }
  // Kahan: with t = tan y, b = 1 + t², s = sinh x, r = √(1 + s²).
  T t = tan(z.im), b = T(1) + t * t, s = sinh(z.re), r = sqrt(T(1) + s * s);
  if (!(fabs(t) < infinity<T>())) {
    return {r / s, T(1) / t};
  }
  T d = T(1) + b * s * s;
  return {b * r * s / d, t / d};
}
template <class T>
__device__ __forceinline__ complex<T> sin(const complex<T>& z) {
  if (z.re == T(0)) {
    return {z.re, sinh(z.im)};
  }
  if (!(fabs(z.re) < infinity<T>())) {
    T im = isInfinite(z.im) ? infinity<T>() : quietNan<T>();
    return {quietNan<T>(), z.im == T(0) ? z.im : im};
  }
  T y = fabs(z.im);
  return {coshTimes(y, sin(z.re)), copysign(T(1), z.im) * sinhTimes(y, cos(z.re))};
}
template <class T>
__device__ __forceinline__ complex<T> cos(const complex<T>& z) {
  return cosh(timesI(z));
}
template <class T>
__device__ __forceinline__ complex<T> tan(const complex<T>& z) {
  return timesMinusI(tanh(timesI(z)));
}
// Kahan's inverse functions: no cancellation, right sides of the cuts. Far out, and at infinities,
// they are log|2z| and the angle of z.
template <class T>
__device__ __forceinline__ T logTwice(const complex<T>& z) {
  return logAbs(z) + T(0.69314718055994530942);
}
template <class T>
__device__ __forceinline__ complex<T> asin(const complex<T>& z) {
  if (isFar(z)) {
    if (isNan(z) && z.re == T(0)) {
      return {z.re, quietNan<T>()};
    }
    return {atan2(z.re, fabs(z.im)), copysign(logTwice(z), z.im)};
  }
  // atan2(Re z, Re √(1−z)√(1+z)) + i asinh(Im(conj √(1−z) √(1+z)))
  complex<T> p = sqrt(complex<T>(T(1) - z.re, -z.im)), q = sqrt(complex<T>(T(1) + z.re, z.im));
  return {atan2(z.re, p.re * q.re - p.im * q.im), asinh(p.re * q.im - p.im * q.re)};
}
template <class T>
__device__ __forceinline__ complex<T> asinh(const complex<T>& z) {
  if (isFar(z)) {
    if (z.im == T(0) && z.re != z.re) {
      return {quietNan<T>(), z.im};
    }
    return {copysign(logTwice(z), z.re), atan2(z.im, fabs(z.re))};
  }
  return timesI(asin(timesMinusI(z)));
}
template <class T>
__device__ __forceinline__ complex<T> acos(const complex<T>& z) {
  if (isFar(z)) {
    if (isNan(z) && z.re == T(0)) {
      return {T(1.5707963267948966192), quietNan<T>()};
    }
    return {atan2(fabs(z.im), z.re), -copysign(logTwice(z), z.im)};
  }
  complex<T> p = sqrt(complex<T>(T(1) - z.re, -z.im)), q = sqrt(complex<T>(T(1) + z.re, z.im));
  return {T(2) * atan2(p.re, q.re), asinh(q.re * p.im - q.im * p.re)};
}
template <class T>
__device__ __forceinline__ complex<T> acosh(const complex<T>& z) {
  if (isFar(z)) {
    bool nan_beside_zero = isNan(z) && z.re == T(0);
    return {logTwice(z), nan_beside_zero ? T(1.5707963267948966192) : arg(z)};
  }
  complex<T> p = sqrt(complex<T>(z.re - T(1), z.im)), q = sqrt(complex<T>(z.re + T(1), z.im));
  return {asinh(p.re * q.re + p.im * q.im), T(2) * atan2(p.im, q.re)};
}
template <class T>
__device__ __forceinline__ complex<T> atanh(const complex<T>& z) {
  T x = z.re, y = z.im;
  if (isFar(z)) {
    T angle = copysign(T(1.5707963267948966192), y);  // and + 1/z
    if (isInfinite(x) || isInfinite(y)) {
      return {copysign(T(0), x), isInfinite(y) || y == y ? angle : quietNan<T>()};
    }
    if (isNan(z)) {
      return {x == T(0) ? x : quietNan<T>(), quietNan<T>()};
    }
    T big = fmax(fabs(x), fabs(y)), a = x / big, b = y / big, square = a * a + b * b;
    return {a / square / big, angle - b / square / big};
  }
  T size = fabs(x), beside = T(1) - size;
  T re = beside == T(0) ? T(0.5) * log(abs(complex<T>(T(2), y)) / fabs(y))
                        : T(0.25) * log1p(T(4) * size / (beside * beside + y * y));
  // A zero imaginary part keeps its sign, which chooses the side of the cuts.
  T im = T(0.5) * atan2(T(2) * y, (T(1) - x) * (T(1) + x) - y * y);
  return {copysign(re, x), im};
}
template <class T>
__device__ __forceinline__ complex<T> atan(const complex<T>& z) {
  return timesMinusI(atanh(timesI(z)));
}
template <class T>
__device__ __forceinline__ complex<T> sigmoid(const complex<T>& z) {
  if (z.re < T(0)) {  // exp(-z) may be beyond all numbers
    const complex<T> e = exp(z);
    return e / (complex<T>(T(1)) + e);
  }
  return complex<T>(T(1)) / (complex<T>(T(1)) + exp(-z));
}
