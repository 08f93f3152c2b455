// complex<float> and complex<double>: arithmetic as PyTorch has it (products without the repair of
// infinities that C prescribes, quotients scaled by the larger part), functions from the C library.
//
// needs: cpu/prelude.h
template <class T>
struct complex {
  T re, im;

  complex() = default;
  constexpr complex(T real, T imag = T(0)) : re(real), im(imag) {}
  template <class U>
  constexpr explicit complex(const complex<U>& other) : re(T(other.re)), im(T(other.im)) {}

  constexpr T real() const { return re; }
  constexpr T imag() const { return im; }

  friend constexpr complex operator+(const complex& a, const complex& b) {
    return {a.re + b.re, a.im + b.im};
  }
  friend constexpr complex operator-(const complex& a, const complex& b) {
    return {a.re - b.re, a.im - b.im};
  }
  friend constexpr complex operator-(const complex& a) { return {-a.re, -a.im}; }
  friend constexpr complex operator*(const complex& a, const complex& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  static constexpr T size(T x) {
    if constexpr (sizeof(T) == 4) {
      return __builtin_fabsf(x);
    } else {
      return __builtin_fabs(x);
    }
  }
  // What both parts of a quotient are multiplied by, a power of two: 1 over the divisor may be
  // beyond all numbers, or lose its digits, where the quotient is not and does not.
  static constexpr T quotientScale(T of) {
    constexpr bool kIsFloat = sizeof(T) == 4;
    constexpr T kTiny = kIsFloat ? T(1e-24) : T(1e-150), kHuge = kIsFloat ? T(1e24) : T(1e150);
    constexpr T kUp = kIsFloat ? T(281474976710656) : T(1.6069380442589903e60);  // 2^48, 2^200
    return of < kTiny ? kUp : of > kHuge ? T(1) / kUp : T(1);
  }
  friend constexpr complex operator/(const complex& a, const complex& b) {
    const T size_re = size(b.re), size_im = size(b.im);
    const T up = quotientScale(size_re >= size_im ? size_re : size_im);
    const complex p = {a.re * up, a.im * up}, q = {b.re * up, b.im * up};
    if (size_re >= size_im) {
      if (size_re == 0 && size_im == 0) {
        return {a.re / size_re, a.im / size_im};
      }
      T ratio = q.im / q.re, scale = T(1) / (q.re + q.im * ratio);
      return {(p.re + p.im * ratio) * scale, (p.im - p.re * ratio) * scale};
    }
    T ratio = q.re / q.im, scale = T(1) / (q.re * ratio + q.im);
    return {(p.re * ratio + p.im) * scale, (p.im * ratio - p.re) * scale};
  }
  friend constexpr bool operator==(const complex& a, const complex& b) {
    return a.re == b.re && a.im == b.im;
  }
  friend constexpr bool operator!=(const complex& a, const complex& b) { return !(a == b); }
};

// Both layouts are two numbers, real part first.
__forceinline__ complex<float> fromC(_Complex float z) { return {__real__ z, __imag__ z}; }
__forceinline__ complex<double> fromC(_Complex double z) { return {__real__ z, __imag__ z}; }
__forceinline__ _Complex float toC(complex<float> z) {
  _Complex float c;
  __real__ c = z.re;
  __imag__ c = z.im;
  return c;
}
__forceinline__ _Complex double toC(complex<double> z) {
  _Complex double c;
  __real__ c = z.re;
  __imag__ c = z.im;
  return c;
}

#define NVFUSER_COMPLEX_FUNCTION(name)                                                         \
  inline complex<float> name(complex<float> z) { return fromC(__builtin_c##name##f(toC(z))); } \
  inline complex<double> name(complex<double> z) { return fromC(__builtin_c##name(toC(z))); }
NVFUSER_COMPLEX_FUNCTION(exp)
NVFUSER_COMPLEX_FUNCTION(log)
NVFUSER_COMPLEX_FUNCTION(sqrt)
NVFUSER_COMPLEX_FUNCTION(sin)
NVFUSER_COMPLEX_FUNCTION(cos)
NVFUSER_COMPLEX_FUNCTION(tan)
NVFUSER_COMPLEX_FUNCTION(sinh)
NVFUSER_COMPLEX_FUNCTION(cosh)
NVFUSER_COMPLEX_FUNCTION(tanh)
NVFUSER_COMPLEX_FUNCTION(asin)
NVFUSER_COMPLEX_FUNCTION(acos)
NVFUSER_COMPLEX_FUNCTION(atan)
NVFUSER_COMPLEX_FUNCTION(asinh)
NVFUSER_COMPLEX_FUNCTION(acosh)
NVFUSER_COMPLEX_FUNCTION(atanh)
#undef NVFUSER_COMPLEX_FUNCTION

inline float abs(complex<float> z) { return __builtin_hypotf(z.re, z.im); }
inline double abs(complex<double> z) { return __builtin_hypot(z.re, z.im); }
// z^0 is 1 also for z = 0, as of real numbers (C's cpow: NaN).
inline complex<float> pow(complex<float> a, complex<float> b) {
  if (b.re == 0 && b.im == 0) {
    return 1.0f;
  }
  return fromC(__builtin_cpowf(toC(a), toC(b)));
}
inline complex<double> pow(complex<double> a, complex<double> b) {
  if (b.re == 0 && b.im == 0) {
    return 1.0;
  }
  return fromC(__builtin_cpow(toC(a), toC(b)));
}

template <class T>
inline complex<T> exp2(complex<T> z) {
  constexpr T kLn2 = T(0.693147180559945309417);
  return exp(complex<T>(z.re * kLn2, z.im * kLn2));
}
template <class T>
inline complex<T> log2(complex<T> z) {
  complex<T> l = log(z);
  constexpr T kInverseLn2 = T(1.44269504088896340736);
  return {l.re * kInverseLn2, l.im * kInverseLn2};
}
template <class T>
inline complex<T> log10(complex<T> z) {
  complex<T> l = log(z);
  constexpr T kInverseLn10 = T(0.434294481903251827651);
  return {l.re * kInverseLn10, l.im * kInverseLn10};
}
template <class T>
inline complex<T> log1p(complex<T> z) {
  if (!(z.re * z.re + z.im * z.im < T(0.25))) {
    return log(complex<T>(T(1) + z.re, z.im));
  }
  const T square = (T(2) + z.re) * z.re + z.im * z.im;  // |1 + z|² − 1, exact near zero
  if constexpr (sizeof(T) == 4) {
    return {__builtin_log1pf(square) * 0.5f, __builtin_atan2f(z.im, 1.0f + z.re)};
  } else {
    return {__builtin_log1p(square) * 0.5, __builtin_atan2(z.im, 1.0 + z.re)};
  }
}
template <class T>
inline complex<T> sigmoid(complex<T> z) {
  if (z.re < T(0)) {  // exp(-z) may be beyond all numbers
    const complex<T> e = exp(z);
    return e / (complex<T>(T(1)) + e);
  }
  return complex<T>(T(1)) / (complex<T>(T(1)) + exp(-z));
}
