// Functions that the table of operations needs and CUDA lacks. Arguments of different arithmetic
// types meet in their common type. Integer arithmetic wraps. A quotient of integers by zero is 0,
// and so is the remainder.
//
//   maxNan, minNan        IEEE 754-2019 maximum and minimum: a NaN in either operand gives NaN, and
//                         −0 is less than +0; any arithmetic type
//   maxNumber, minNumber  the same, but of a NaN and a number the number
//   lerp(a, b, w)         PyTorch's formula, exact at both ends; float, double, complex
//   floorMod(a, b)        the remainder with the sign of b; any arithmetic type
//   floorDiv(a, b)        PyTorch's div(rounding_mode="floor"); any arithmetic type
//   truncDiv, truncMod    integers, toward zero; least / −1 wraps
//   gcd(a, b)             integers; not negative, save for the least value; gcd(0, 0) = 0
//   powInteger(a, n)      integers; negative n gives 0, except for a = ±1
//   shiftLeft, shiftRight, shiftRightLogical   by less than 0 or by the width and more move
//                                              everything out
//   bitCeil(x)            least power of two ≥ x; 1 for x ≤ 1
//   toInteger<To>(x)      float to integer, toward zero; beyond the range the nearest end (types
//                         below 32 bits wrap from 32), NaN 0
//
// needs: basics.cuh
template <class T>
struct TypeTraits {
  static constexpr bool kUnsigned = T(-1) > T(0);
  static constexpr bool kReal = T(0.5) != T(0);
};
// x < 0, without a warning for types that have no such values.
template <class T>
__device__ __forceinline__ bool isNegative(T x) {
  if constexpr (TypeTraits<T>::kUnsigned) {
    return false;
  } else {
    return x < T(0);
  }
}

// Of equal numbers only zeros differ in their bits: the conjunction is +0 unless both are −0, the
// disjunction −0 unless both are +0.
template <class T>
__device__ __forceinline__ T largerIfEqual(T x, T y) {
  if constexpr (!TypeTraits<T>::kReal) {
    return y;
  } else if constexpr (sizeof(T) == 4) {
    return bitCast<float>(bitCast<i32>(y) & (x == y ? bitCast<i32>(x) : i32(-1)));
  } else {
    return bitCast<double>(bitCast<i64>(y) & (x == y ? bitCast<i64>(x) : i64(-1)));
  }
}
template <class T>
__device__ __forceinline__ T smallerIfEqual(T x, T y) {
  if constexpr (!TypeTraits<T>::kReal) {
    return y;
  } else if constexpr (sizeof(T) == 4) {
    return bitCast<float>(bitCast<i32>(y) | (x == y ? bitCast<i32>(x) : i32(0)));
  } else {
    return bitCast<double>(bitCast<i64>(y) | (x == y ? bitCast<i64>(x) : i64(0)));
  }
}

template <class A, class B>
__device__ __forceinline__ Common<A, B> maxNan(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
#if !defined(NVFUSER_EMULATED) && __CUDA_ARCH__ >= 800
  if constexpr (TypeTraits<T>::kReal && sizeof(T) == 4) {
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(x), "f"(y));
    return x;
  }
#endif
  return x > y || x != x ? x : largerIfEqual(x, y);
}
template <class A, class B>
__device__ __forceinline__ Common<A, B> minNan(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
#if !defined(NVFUSER_EMULATED) && __CUDA_ARCH__ >= 800
  if constexpr (TypeTraits<T>::kReal && sizeof(T) == 4) {
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(x), "f"(y));
    return x;
  }
#endif
  return x < y || x != x ? x : smallerIfEqual(x, y);
}
template <class A, class B>
__device__ __forceinline__ Common<A, B> maxNumber(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  return x > y || y != y ? x : largerIfEqual(x, y);
}
template <class A, class B>
__device__ __forceinline__ Common<A, B> minNumber(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  return x < y || y != y ? x : smallerIfEqual(x, y);
}

__device__ __forceinline__ float lerp(float a, float b, float w) {
  float span = b - a;
  return fabsf(w) < 0.5f ? a + w * span : b - span * (1.0f - w);
}
__device__ __forceinline__ double lerp(double a, double b, double w) {
  double span = b - a;
  return fabs(w) < 0.5 ? a + w * span : b - span * (1.0 - w);
}
template <class C>
__device__ __forceinline__ C lerp(C a, C b, C w) {
  C span = b - a;
  return abs(w) < 0.5 ? a + w * span : b - span * (C(1) - w);
}

template <class A, class B>
__device__ __forceinline__ Common<A, B> truncDiv(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  if (y == T(0)) {  // the same on all devices; hosts would trap
    return T(0);
  }
#ifdef NVFUSER_EMULATED
  if (isNegative(y) && y == T(-1)) {
    return T(0 - (u64)x);
  }
#endif
  return T(x / y);
}
template <class A, class B>
__device__ __forceinline__ Common<A, B> truncMod(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  if (y == T(0)) {
    return T(0);
  }
#ifdef NVFUSER_EMULATED
  if (isNegative(y) && y == T(-1)) {
    return T(0);
  }
#endif
  return T(x % y);
}
template <class A, class B>
__device__ __forceinline__ Common<A, B> floorMod(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b, rest;
  if constexpr (TypeTraits<T>::kReal) {
    rest = fmod(x, y);
  } else {
    rest = truncMod(x, y);
  }
  return rest != T(0) && isNegative(rest) != isNegative(y) ? T(rest + y) : rest;
}
template <class A, class B>
__device__ __forceinline__ Common<A, B> floorDiv(A a, B b) {
  using T = Common<A, B>;
  T x = a, y = b;
  if constexpr (TypeTraits<T>::kReal) {
    if (y == T(0)) {
      return x / y;
    }
    T rest = fmod(x, y);
    T quotient = (x - rest) / y;
    if (rest != T(0) && (y < T(0)) != (rest < T(0))) {
      quotient -= T(1);
    }
    if (quotient == T(0)) {
      return copysign(T(0), x / y);
    }
    T whole = floor(quotient);
    return quotient - whole > T(0.5) ? whole + T(1) : whole;
  } else {
    T quotient = truncDiv(x, y);
    return truncMod(x, y) != T(0) && isNegative(x) != isNegative(y) ? T(quotient - T(1)) : quotient;
  }
}

template <class A, class B>
__device__ __forceinline__ A powInteger(A a, B n) {
  if (isNegative(n)) {
    return a == A(1) ? A(1) : a == A(-1) ? (n % 2 == 0 ? A(1) : A(-1)) : A(0);
  }
  u64 result = 1, factor = (u64)a;  // wraps at 64 bits; the low ones are A's
  for (u64 left = (u64)n; left != 0; left >>= 1) {
    if (left & 1) {
      result *= factor;
    }
    factor *= factor;
  }
  return A(result);
}
template <class A, class B>
__device__ __forceinline__ Common<A, B> gcd(A a, B b) {
  using T = Common<A, B>;
  T p = a, q = b;
  u64 x = isNegative(p) ? 0 - (u64)p : (u64)p;
  u64 y = isNegative(q) ? 0 - (u64)q : (u64)q;
  while (y != 0) {
    u64 rest = x % y;
    x = y;
    y = rest;
  }
  return T(x);
}

template <class A, class B>
__device__ __forceinline__ A shiftLeft(A a, B by) {
  return (u64)by >= sizeof(A) * 8 ? A(0) : A((u64)a << ((u64)by & 63));
}
template <class A, class B>
__device__ __forceinline__ A shiftRight(A a, B by) {
  if constexpr (TypeTraits<A>::kUnsigned) {
    return (u64)by >= sizeof(A) * 8 ? A(0) : A(a >> ((u64)by & 63));
  } else {
    return A((i64)a >> ((u64)by >= sizeof(A) * 8 ? 63 : (u64)by & 63));
  }
}
template <class A, class B>
__device__ __forceinline__ A shiftRightLogical(A a, B by) {
  u64 value = (u64)a << (64 - sizeof(A) * 8) >> (64 - sizeof(A) * 8);
  return (u64)by >= sizeof(A) * 8 ? A(0) : A(value >> ((u64)by & 63));
}

template <class A>
__device__ __forceinline__ A bitCeil(A a) {
  if (a <= A(1)) {
    return A(1);
  }
  int bits = 64 - __clzll((i64)((u64)a - 1));
  return bits >= 64 ? A(0) : A((u64)1 << bits);
}

template <class To, class From>
__device__ __forceinline__ To toInteger(From x) {
#ifdef NVFUSER_EMULATED
  constexpr bool kUnsigned = TypeTraits<To>::kUnsigned;
  if constexpr (sizeof(To) == 8 && kUnsigned) {
    if (x >= From(9223372036854775808.0)) {
      return x < From(18446744073709551616.0) ? To((u64)x) : To(-1);
    }
    return To(__nvf_to_integer(x, 0, 9223372036854775807ull));
  } else if constexpr (sizeof(To) == 8) {
    return To(__nvf_to_integer(x, -9223372036854775807ll - 1, 9223372036854775807ull));
  } else if constexpr (sizeof(To) == 4 && kUnsigned) {
    return To(__nvf_to_integer(x, 0, 4294967295ull));
  } else {
    return To(__nvf_to_integer(x, -2147483648ll, 2147483647ull));
  }
#else
  if (x != x) {
    return To(0);
  }
  if constexpr (sizeof(To) < 4) {
    return To((i32)x);
  } else {
    return To(x);
  }
#endif
}
