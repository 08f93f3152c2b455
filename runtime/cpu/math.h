// Functions that the table of operations needs and the C library lacks. Integer arithmetic wraps;
// what the hardware would trap on has a value (a quotient by 0 is 0).
//
// needs: cpu/prelude.h
template <class T>
constexpr bool kIsUnsigned = T(-1) > T(0);
template <class T>
constexpr bool kIsReal = T(0.5) != T(0);

/// C's atan under a name that the compiler does not know: where errors need no number (errno), GCC
/// makes a root of sin(atan(x)) and of cos(atan(x)), and 1 and 0 of a NaN.
float arctan(float x) noexcept __asm__("atanf");
double arctan(double x) noexcept __asm__("atan");

/// IEEE 754-2019 maximum and minimum: a NaN in either operand gives NaN, and −0 is less than +0. Of
/// equal numbers only zeros differ in their bits: the conjunction is +0 unless both are −0, the
/// disjunction −0 unless both are +0. Without branches, so that loops over it become vector code.
template <class T>
__forceinline__ T largerIfEqual(T x, T y) {
  if constexpr (!kIsReal<T>) {
    return y;
  } else if constexpr (sizeof(T) == 4) {
    return bitCast<float>(bitCast<i32>(y) & (x == y ? bitCast<i32>(x) : i32(-1)));
  } else {
    return bitCast<double>(bitCast<i64>(y) & (x == y ? bitCast<i64>(x) : i64(-1)));
  }
}
template <class T>
__forceinline__ T smallerIfEqual(T x, T y) {
  if constexpr (!kIsReal<T>) {
    return y;
  } else if constexpr (sizeof(T) == 4) {
    return bitCast<float>(bitCast<i32>(y) | (x == y ? bitCast<i32>(x) : i32(0)));
  } else {
    return bitCast<double>(bitCast<i64>(y) | (x == y ? bitCast<i64>(x) : i64(0)));
  }
}
template <class A, class B>
__forceinline__ Common<A, B> maxNan(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  return x > y || x != x ? x : largerIfEqual(x, y);
}
template <class A, class B>
__forceinline__ Common<A, B> minNan(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  return x < y || x != x ? x : smallerIfEqual(x, y);
}
/// The same, but of a NaN and a number the number.
template <class A, class B>
__forceinline__ Common<A, B> maxNumber(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  return x > y || y != y ? x : largerIfEqual(x, y);
}
template <class A, class B>
__forceinline__ Common<A, B> minNumber(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  return x < y || y != y ? x : smallerIfEqual(x, y);
}

template <class A, class B>
__forceinline__ Common<A, B> truncDiv(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  if (y == 0) {
    return 0;
  }
  if constexpr (!kIsUnsigned<T>) {
    if (y == T(-1)) {
      return (T)(0 - (u64)x);
    }
  }
  return (T)(x / y);
}
template <class A, class B>
__forceinline__ Common<A, B> truncMod(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  if (y == 0) {
    return 0;
  }
  if constexpr (!kIsUnsigned<T>) {
    if (y == T(-1)) {
      return 0;
    }
  }
  return (T)(x % y);
}
/// The remainder with the sign of the divisor.
template <class A, class B>
__forceinline__ Common<A, B> floorMod(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  if constexpr (kIsReal<T>) {
    T rest = sizeof(T) == 4 ? (T)__builtin_fmodf((float)x, (float)y)
                            : (T)__builtin_fmod((double)x, (double)y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  } else {
    T rest = truncMod(x, y);
    return rest != 0 && !kIsUnsigned<T> && (rest < 0) != (y < 0) ? (T)(rest + y) : rest;
  }
}

template <class A, class B>
inline A powInteger(A base_, B exponent_) {
  using T = Common<A, B>;
  T base = base_, exponent = exponent_;
  if constexpr (!kIsUnsigned<T>) {
    if (exponent < 0) {
      return base == 1 ? 1 : base == T(-1) ? (exponent % 2 == 0 ? 1 : -1) : 0;
    }
  }
  u64 result = 1, factor = (u64)base;
  for (u64 left = (u64)exponent; left != 0; left >>= 1) {
    if (left & 1) {
      result *= factor;
    }
    factor *= factor;
  }
  return (A)result;
}

template <class A, class B>
inline Common<A, B> gcd(A a, B b) {
  using T = Common<A, B>;
  T p = a, q = b;
  u64 x = !kIsUnsigned<T> && p < 0 ? 0 - (u64)p : (u64)p;
  u64 y = !kIsUnsigned<T> && q < 0 ? 0 - (u64)q : (u64)q;
  while (y != 0) {
    u64 rest = x % y;
    x = y;
    y = rest;
  }
  return (T)x;
}

/// Shifts by less than 0 or by the width and more move everything out.
template <class A, class B>
__forceinline__ A shiftLeft(A a, B by) {
  return (u64)by >= sizeof(A) * 8 ? A(0) : (A)((u64)a << ((u64)by & 63));
}
template <class A, class B>
__forceinline__ A shiftRight(A a, B by) {
  if constexpr (kIsUnsigned<A>) {
    return (u64)by >= sizeof(A) * 8 ? A(0) : (A)(a >> ((u64)by & 63));
  } else {
    return (A)((i64)a >> ((u64)by >= sizeof(A) * 8 ? 63 : (u64)by & 63));
  }
}
template <class A, class B>
__forceinline__ A shiftRightLogical(A a, B by) {
  u64 value = (u64)a << (64 - sizeof(A) * 8) >> (64 - sizeof(A) * 8);
  return (u64)by >= sizeof(A) * 8 ? A(0) : (A)(value >> ((u64)by & 63));
}

/// Float to integer, toward zero; beyond the range the nearest end (types below 32 bits wrap from
/// 32), NaN 0. Without branches, so that loops over it become vector code.
template <class To, class From>
__forceinline__ To toInteger(From x) {
  if constexpr (sizeof(To) < 4) {
    return (To)toInteger<i32>(x);
  } else {
    constexpr int kBits = sizeof(To) * 8 - (kIsUnsigned<To> ? 0 : 1);
    constexpr To kMost = (To)(~(u64)0 >> (64 - kBits));
    constexpr To kLeast = kIsUnsigned<To> ? To(0) : (To)(-kMost - 1);
    constexpr From kEnd = (From)((u64)1 << (kBits - 1)) * From(2);
    const bool fits = x >= (From)kLeast && x < kEnd;
#if defined(__clang__)
    const To inside = (To)(fits ? x : From(0));
#else
    // Behind a barrier, as g++ takes (float)(int)x for trunc(x), which is −0 for −0.3.
    const To inside = __builtin_assoc_barrier((To)(fits ? x : From(0)));
#endif
    return fits ? inside : x > From(0) ? kMost : x < From(0) ? kLeast : To(0);
  }
}

/// Least power of two that is not below a; 1 for a < 1.
template <class A>
inline A bitCeil(A a) {
  if (a <= A(1)) {
    return A(1);
  }
  u64 below = (u64)a - 1;
  int bits = 64 - __builtin_clzll(below);
  return bits >= 64 ? A(0) : (A)((u64)1 << bits);
}

/// PyTorch's formula, exact at both ends.
__forceinline__ float lerp(float start, float end, float weight) {
  float span = end - start;
  return __builtin_fabsf(weight) < 0.5f ? start + weight * span : end - span * (1.0f - weight);
}
__forceinline__ double lerp(double start, double end, double weight) {
  double span = end - start;
  return __builtin_fabs(weight) < 0.5 ? start + weight * span : end - span * (1.0 - weight);
}
template <class C>
inline C lerp(C start, C end, C weight) {
  C span = end - start;
  return abs(weight) < 0.5 ? start + weight * span : end - span * (C(1) - weight);
}

/// x with erfc(x) == tail, where erfc is so small that it has few digits, tail < 1e-290: its
/// logarithm's series in t = 1 / 2x², -x² - log(x √π) + log(1 - t (1 - 3 t (1 - 5 t …))), solved
/// for x.
inline double inverseErfcFar(double tail) {
  const double log_tail = __builtin_log(tail);
  double x = __builtin_sqrt(-log_tail);
  for (int step = 0; step < 7; ++step) {
    const double t = 0.5 / (x * x);
    double series = 1;
    for (int odd = 13; odd >= 1; odd -= 2) {
      series = 1 - odd * t * series;
    }
    x = __builtin_sqrt(__builtin_log(series) - __builtin_log(x * 1.77245385090551602730) -
                       log_tail);
  }
  return x;
}
/// x with erfc(x) == tail, 0 < tail <= 1. Newton's steps on log(erfc), which is nearly a parabola
/// and so converges far out too, from a start within a few percent (Winitzki).
inline double inverseErfcUpper(double tail) {
  if (tail < 1e-290) {
    return inverseErfcFar(tail);
  }
  constexpr double kA = 0.147, kPi = 3.14159265358979323846,
                   kTwoOverRootPi = 1.12837916709551257390;
  double log_term = __builtin_log(tail * (2.0 - tail));
  double half = 2.0 / (kPi * kA) + log_term / 2;
  double x = __builtin_sqrt(__builtin_sqrt(half * half - log_term / kA) - half);
  for (int step = 0; step < 6; ++step) {
    double value = __builtin_erfc(x);
    if (value == 0) {
      x *= 0.99;
      continue;
    }
    x += value * __builtin_log(value / tail) / (kTwoOverRootPi * __builtin_exp(-x * x));
  }
  return x;
}
inline double erfinv(double y) {
  if (!(y >= -1 && y <= 1)) {
    return __builtin_nan("");
  }
  double size = __builtin_fabs(y);
  if (size == 1) {
    return y * __builtin_inf();
  }
  if (size > 0.5) {
    return __builtin_copysign(inverseErfcUpper(1.0 - size), y);
  }
  double x = y * 0.88622692545275801365;
  for (int step = 0; step < 5; ++step) {
    x -= (__builtin_erf(x) - y) / (1.12837916709551257390 * __builtin_exp(-x * x));
  }
  return x;
}
inline double erfcinv(double y) {
  if (!(y >= 0 && y <= 2)) {
    return __builtin_nan("");
  }
  if (y == 0) {
    return __builtin_inf();
  }
  if (y == 2) {
    return -__builtin_inf();
  }
  return y < 0.5 ? inverseErfcUpper(y) : erfinv(1.0 - y);
}
