// CUDA C++ as the host compiler sees it: the language's own words, the built-in variables,
// barriers, warp functions, atomics and the mathematics, for text that our code generator prints.
// Memory accesses are reported to the emulator through the calls that -fsanitize=thread inserts;
// the functions that they call are defined here, without libtsan.
//
// No system header is included: a kernel compiles in the time of its own text. Not supplied:
// textures, surfaces, dynamic parallelism, named barriers, tensor cores.
#define NVFUSER_EMULATED 1

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __constant__ static
// Shared memory of fixed size is a static of the host thread: the emulator swaps its contents
// between blocks. Text of the form `extern __shared__ T name[];` is rewritten before compilation.
#define __shared__ thread_local
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __maxnreg__(n)

#define NVF_RAW __attribute__((noinline, no_sanitize("thread")))
#define NVF_EXPORT __attribute__((visibility("default"), used))
#define NVF_PC __builtin_return_address(0)

static const NvfHooks* __nvf_hooks;
static const NvfThread* __nvf_thread;
static thread_local char __nvf_shared_anchor;

extern "C" NVF_RAW NVF_EXPORT void __nvf_attach(const NvfHooks* hooks, NvfThread const*** current,
                                                void** shared_anchor) {
  __nvf_hooks = hooks;
  *current = &__nvf_thread;
  *shared_anchor = &__nvf_shared_anchor;
}

// --- what -fsanitize=thread calls ----------------------------------------------------------------
#define NVF_HOOK \
  extern "C" __attribute__((visibility("hidden"), noinline, used, no_sanitize("thread")))
#define NVF_SIZED(n)                                                                           \
  NVF_HOOK void __tsan_read##n(void* p) { __nvf_hooks->read(p, n, NVF_PC); }                   \
  NVF_HOOK void __tsan_write##n(void* p) { __nvf_hooks->write(p, n, NVF_PC); }                 \
  NVF_HOOK void __tsan_volatile_read##n(void* p) { __nvf_hooks->read(p, n, NVF_PC); }          \
  NVF_HOOK void __tsan_volatile_write##n(void* p) { __nvf_hooks->write(p, n, NVF_PC); }        \
  NVF_HOOK void __tsan_unaligned_read##n(void* p) { __nvf_hooks->read_range(p, n, NVF_PC); }   \
  NVF_HOOK void __tsan_unaligned_write##n(void* p) { __nvf_hooks->write_range(p, n, NVF_PC); } \
  NVF_HOOK void __tsan_read_write##n(void* p) {                                                \
    __nvf_hooks->read(p, n, NVF_PC);                                                           \
    __nvf_hooks->write(p, n, NVF_PC);                                                          \
  }                                                                                            \
  NVF_HOOK void __tsan_unaligned_read_write##n(void* p) {                                      \
    __nvf_hooks->read_range(p, n, NVF_PC);                                                     \
    __nvf_hooks->write_range(p, n, NVF_PC);                                                    \
  }
NVF_SIZED(1)
NVF_SIZED(2)
NVF_SIZED(4)
NVF_SIZED(8)
NVF_SIZED(16)
NVF_HOOK void __tsan_read_range(void* p, unsigned long n) { __nvf_hooks->read_range(p, n, NVF_PC); }
NVF_HOOK void __tsan_write_range(void* p, unsigned long n) {
  __nvf_hooks->write_range(p, n, NVF_PC);
}
NVF_HOOK void* __tsan_memcpy(void* to, const void* from, unsigned long n) {
  __nvf_hooks->read_range(from, n, NVF_PC);
  __nvf_hooks->write_range(to, n, NVF_PC);
  return __builtin_memcpy(to, from, n);
}
NVF_HOOK void* __tsan_memmove(void* to, const void* from, unsigned long n) {
  __nvf_hooks->read_range(from, n, NVF_PC);
  __nvf_hooks->write_range(to, n, NVF_PC);
  return __builtin_memmove(to, from, n);
}
NVF_HOOK void* __tsan_memset(void* to, int value, unsigned long n) {
  __nvf_hooks->write_range(to, n, NVF_PC);
  return __builtin_memset(to, value, n);
}
NVF_HOOK void __tsan_init() {}
NVF_HOOK void __tsan_func_entry(void*) {}
NVF_HOOK void __tsan_func_exit() {}
NVF_HOOK void __tsan_vptr_update(void**, void*) {}

// --- vector types and built-in variables ---------------------------------------------------------
#define NVF_VECTOR(name, type, bytes)                                         \
  struct alignas(bytes / 2) name##2 { type x, y; };                           \
  struct name##3 { type x, y, z; };                                           \
  struct alignas(bytes > 16 ? 16 : bytes) name##4 { type x, y, z, w; };       \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
NVF_VECTOR(char, signed char, 4)
NVF_VECTOR(uchar, unsigned char, 4)
NVF_VECTOR(short, short, 8)
NVF_VECTOR(ushort, unsigned short, 8)
NVF_VECTOR(int, int, 16)
NVF_VECTOR(uint, unsigned, 16)
NVF_VECTOR(float, float, 16)
NVF_VECTOR(longlong, long long, 32)
NVF_VECTOR(ulonglong, unsigned long long, 32)
NVF_VECTOR(double, double, 32)

// `const` is true of them for as long as a function of one thread runs.
#define NVF_BUILTIN(name, field)                                                     \
  __attribute__((const)) NVF_RAW static uint3 __nvf_##name() {                       \
    return {__nvf_thread->field[0], __nvf_thread->field[1], __nvf_thread->field[2]}; \
  }
NVF_BUILTIN(threadIdx, thread_index)
NVF_BUILTIN(blockIdx, block_index)
NVF_BUILTIN(blockDim, block_size)
NVF_BUILTIN(gridDim, grid_size)
NVF_BUILTIN(clusterDim, cluster_size)
__attribute__((const)) NVF_RAW static unsigned __nvf_lane() { return __nvf_thread->lane; }
__attribute__((const)) NVF_RAW static void* __nvf_dynamic_shared() {
  return __nvf_thread->dynamic_shared;
}
#define threadIdx (__nvf_threadIdx())
#define blockIdx (__nvf_blockIdx())
#define blockDim (__nvf_blockDim())
#define gridDim (__nvf_gridDim())
#define warpSize 32

// --- barriers and warps --------------------------------------------------------------------------
#define NVF_LINE int line = __builtin_LINE()
NVF_RAW static void __syncthreads(NVF_LINE) { __nvf_hooks->block_barrier(0, line); }
NVF_RAW static int __syncthreads_count(int p, NVF_LINE) {
  return __nvf_hooks->block_barrier(p, line);
}
NVF_RAW static int __syncthreads_or(int p, NVF_LINE) {
  return __nvf_hooks->block_barrier(p, line) != 0;
}
NVF_RAW static int __syncthreads_and(int p, NVF_LINE) {
  return __nvf_hooks->block_barrier(!p, line) == 0;
}
NVF_RAW static void __syncwarp(unsigned mask = 0xffffffffu, NVF_LINE) {
  __nvf_hooks->vote(NvfVoteSync, mask, 0, line);
}
NVF_RAW static unsigned __ballot_sync(unsigned mask, int p, NVF_LINE) {
  return __nvf_hooks->vote(NvfVoteBallot, mask, p != 0, line);
}
NVF_RAW static int __any_sync(unsigned mask, int p, NVF_LINE) {
  return __nvf_hooks->vote(NvfVoteBallot, mask, p != 0, line) != 0;
}
NVF_RAW static int __all_sync(unsigned mask, int p, NVF_LINE) {
  return __nvf_hooks->vote(NvfVoteBallot, mask, p == 0, line) == 0;
}
template <class T>
NVF_RAW unsigned __match_any_sync(unsigned mask, T value, NVF_LINE) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return __nvf_hooks->vote(NvfVoteMatchAny, mask, bits, line);
}
NVF_RAW static unsigned __activemask() { return __nvf_hooks->active_mask(); }
template <class T>
NVF_RAW T __nvf_shuffle(NvfShuffle kind, unsigned mask, T value, int parameter, int width,
                        int line) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = __nvf_hooks->shuffle(kind, mask, bits, parameter, width, line);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
#define NVF_SHUFFLE(name, kind, Parameter)                                               \
  template <class T>                                                                     \
  inline T name(unsigned mask, T value, Parameter parameter, int width = 32, NVF_LINE) { \
    return __nvf_shuffle(kind, mask, value, (int)parameter, width, line);                \
  }
NVF_SHUFFLE(__shfl_sync, NvfShuffleIndex, int)
NVF_SHUFFLE(__shfl_up_sync, NvfShuffleUp, unsigned)
NVF_SHUFFLE(__shfl_down_sync, NvfShuffleDown, unsigned)
NVF_SHUFFLE(__shfl_xor_sync, NvfShuffleXor, int)

// --- fences, atomics, cached loads ---------------------------------------------------------------
NVF_RAW static void __threadfence() { __nvf_hooks->fence(); }
NVF_RAW static void __threadfence_system() { __nvf_hooks->fence(); }
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {}
NVF_RAW static void __trap(NVF_LINE) { __nvf_hooks->trap("__trap()", line); }

template <class T>
struct __nvf_same {
  using type = T;
};
#define NVF_ATOMIC(name, update)                                   \
  template <class T>                                               \
  NVF_RAW T name(T* address, typename __nvf_same<T>::type value) { \
    __nvf_hooks->atomic(address, sizeof(T), NVF_PC);               \
    T old = *address;                                              \
    *address = update;                                             \
    return old;                                                    \
  }
NVF_ATOMIC(atomicAdd, old + value)
NVF_ATOMIC(atomicSub, old - value)
NVF_ATOMIC(atomicExch, value)
NVF_ATOMIC(atomicMax, (old < value ? value : old))
NVF_ATOMIC(atomicMin, (value < old ? value : old))
NVF_ATOMIC(atomicAnd, old& value)
NVF_ATOMIC(atomicOr, old | value)
NVF_ATOMIC(atomicXor, old ^ value)
NVF_ATOMIC(atomicInc, (old >= value ? 0 : old + 1))
NVF_ATOMIC(atomicDec, (old == 0 || old > value ? value : old - 1))
template <class T>
NVF_RAW T atomicCAS(T* address, typename __nvf_same<T>::type expected,
                    typename __nvf_same<T>::type value) {
  __nvf_hooks->atomic(address, sizeof(T), NVF_PC);
  T old = *address;
  if (old == expected) {
    *address = value;
  }
  return old;
}

// Vector structs travel as one access; others as they are.
template <int Bytes>
struct __nvf_word;
template <>
struct __nvf_word<1> {
  typedef unsigned char type __attribute__((may_alias));
};
template <>
struct __nvf_word<2> {
  typedef unsigned short type __attribute__((may_alias));
};
template <>
struct __nvf_word<4> {
  typedef unsigned type __attribute__((may_alias));
};
template <>
struct __nvf_word<8> {
  typedef unsigned long long type __attribute__((may_alias));
};
template <>
struct __nvf_word<16> {
  typedef unsigned type __attribute__((vector_size(16), may_alias));
};
template <class T>
inline T __nvf_load(const T* p) {
  auto word = *reinterpret_cast<const typename __nvf_word<sizeof(T)>::type*>(p);
  T value;
  __builtin_memcpy(&value, &word, sizeof(T));
  return value;
}
template <class T>
inline void __nvf_store(T* p, T value) {
  typename __nvf_word<sizeof(T)>::type word;
  __builtin_memcpy(&word, &value, sizeof(T));
  *reinterpret_cast<typename __nvf_word<sizeof(T)>::type*>(p) = word;
}
#define NVF_LOAD(name)        \
  template <class T>          \
  inline T name(const T* p) { \
    return __nvf_load(p);     \
  }
#define NVF_STORE(name)                                    \
  template <class T>                                       \
  inline void name(T* p, typename __nvf_same<T>::type v) { \
    __nvf_store(p, v);                                     \
  }
NVF_LOAD(__ldg)
NVF_LOAD(__ldcs)
NVF_LOAD(__ldcg)
NVF_LOAD(__ldca)
NVF_LOAD(__ldlu)
NVF_LOAD(__ldcv)
NVF_STORE(__stcs)
NVF_STORE(__stcg)
NVF_STORE(__stwb)
NVF_STORE(__stwt)

// --- bits ----------------------------------------------------------------------------------------
template <class To, class From>
inline To __nvf_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}
inline unsigned __float_as_uint(float x) { return __nvf_bits<unsigned>(x); }
inline int __float_as_int(float x) { return __nvf_bits<int>(x); }
inline float __uint_as_float(unsigned x) { return __nvf_bits<float>(x); }
inline float __int_as_float(int x) { return __nvf_bits<float>(x); }
inline long long __double_as_longlong(double x) { return __nvf_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return __nvf_bits<double>(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) {
    r |= ((x >> i) & 1u) << (31 - i);
  }
  return r;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)(((unsigned long long)a * b) >> 32);
}
inline int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
  s &= 31;
  return s ? (hi << s) | (lo >> (32 - s)) : hi;
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  s &= 31;
  return s ? (lo >> s) | (hi << (32 - s)) : lo;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  unsigned long long both = ((unsigned long long)b << 32) | a;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) {
    r |= (unsigned)((both >> (8 * ((selector >> (4 * i)) & 7))) & 255) << (8 * i);
  }
  return r;
}
template <class T>
inline long long __nvf_to_integer(T x, long long least, unsigned long long most) {
  if (x != x) {
    return 0;
  }
  if (x <= (T)least) {
    return least;
  }
  if (x >= (T)most) {
    return (long long)most;
  }
  return (long long)x;
}
inline unsigned __cvta_generic_to_shared(const void* p) { return (unsigned)(unsigned long)p; }

// --- mathematics ---------------------------------------------------------------------------------
// libm's names in both precisions, with C++ overloads for float as CUDA has them.
#define NVF_MATH1(name)                     \
  extern "C" double name(double) noexcept;  \
  extern "C" float name##f(float) noexcept; \
  inline float name(float x) { return name##f(x); }
#define NVF_MATH2(name)                            \
  extern "C" double name(double, double) noexcept; \
  extern "C" float name##f(float, float) noexcept; \
  inline float name(float x, float y) { return name##f(x, y); }
NVF_MATH1(sqrt)
NVF_MATH1(cbrt)
NVF_MATH1(exp)
NVF_MATH1(exp2)
NVF_MATH1(expm1)
NVF_MATH1(log)
NVF_MATH1(log2)
NVF_MATH1(log10)
NVF_MATH1(log1p)
NVF_MATH1(sin)
NVF_MATH1(cos)
NVF_MATH1(tan)
NVF_MATH1(asin)
NVF_MATH1(acos)
NVF_MATH1(atan)
NVF_MATH1(sinh)
NVF_MATH1(cosh)
NVF_MATH1(tanh)
NVF_MATH1(asinh)
NVF_MATH1(acosh)
NVF_MATH1(atanh)
NVF_MATH1(erf)
NVF_MATH1(erfc)
NVF_MATH1(tgamma)
NVF_MATH1(lgamma)
NVF_MATH1(floor)
NVF_MATH1(ceil)
NVF_MATH1(trunc)
NVF_MATH1(round)
NVF_MATH1(rint)
NVF_MATH1(nearbyint)
NVF_MATH1(fabs)
NVF_MATH1(logb)
NVF_MATH2(pow)
NVF_MATH2(atan2)
NVF_MATH2(fmod)
NVF_MATH2(remainder)
NVF_MATH2(hypot)
NVF_MATH2(fmin)
NVF_MATH2(fmax)
NVF_MATH2(copysign)
NVF_MATH2(nextafter)
NVF_MATH2(fdim)
extern "C" int printf(const char* format, ...);
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" double frexp(double, int*) noexcept;
extern "C" float frexpf(float, int*) noexcept;
extern "C" double modf(double, double*) noexcept;
extern "C" float modff(float, float*) noexcept;
extern "C" double scalbn(double, int) noexcept;
extern "C" float scalbnf(float, int) noexcept;
extern "C" int ilogb(double) noexcept;
extern "C" int ilogbf(float) noexcept;
extern "C" long long llrint(double) noexcept;
extern "C" long long llrintf(float) noexcept;
extern "C" int abs(int) noexcept;
extern "C" long long llabs(long long) noexcept;
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline long abs(long x) { return x < 0 ? -x : x; }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
#define NVF_CLASS(name)                                     \
  inline bool name(float x) { return __builtin_##name(x); } \
  inline bool name(double x) { return __builtin_##name(x); }
NVF_CLASS(isnan)
NVF_CLASS(isinf)
NVF_CLASS(isfinite)
NVF_CLASS(signbit)
inline int __float2int_rn(float x) {
  return (int)__nvf_to_integer(__builtin_rintf(x), -2147483648ll, 2147483647ull);
}
inline int __float2int_rz(float x) {
  return (int)__nvf_to_integer(x, -2147483648ll, 2147483647ull);
}
inline float __int2float_rn(int x) { return (float)x; }
inline float __uint2float_rn(unsigned x) { return (float)x; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.f) : 0.f; }

// CUDA's own, by way of double for the float ones.
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline float rsqrtf(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline float rcbrtf(float x) { return (float)(1.0 / cbrt((double)x)); }
inline double exp10(double x) { return pow(10.0, x); }
inline float exp10f(float x) { return (float)pow(10.0, (double)x); }
inline double __nvf_sinpi(double x) {
  double r = x - 2.0 * __builtin_rint(0.5 * x);  // in [-1, 1], exact
  if (r > 0.5) {
    r = 1.0 - r;
  }
  if (r < -0.5) {
    r = -1.0 - r;
  }
  return r == 0 ? __builtin_copysign(0.0, x) : sin(3.14159265358979323846 * r);
}
inline double __nvf_cospi(double x) {
  double r = __builtin_fabs(x - 2.0 * __builtin_rint(0.5 * x));
  return r <= 0.25 ? cos(3.14159265358979323846 * r) : sin(3.14159265358979323846 * (0.5 - r));
}
inline double sinpi(double x) { return __nvf_sinpi(x); }
inline double cospi(double x) { return __nvf_cospi(x); }
inline float sinpif(float x) { return (float)__nvf_sinpi(x); }
inline float cospif(float x) { return (float)__nvf_cospi(x); }
inline void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}
inline void sincospi(double x, double* s, double* c) {
  *s = sinpi(x);
  *c = cospi(x);
}
inline void sincosf(float x, float* s, float* c) {
  *s = sinf(x);
  *c = cosf(x);
}
inline void sincos(double x, double* s, double* c) {
  *s = sin(x);
  *c = cos(x);
}
// x with erfc(x) == tail, where erfc is so small that it has few digits, tail < 1e-290: its
// logarithm's series in t = 1 / 2x², -x² - log(x √π) + log(1 - t (1 - 3 t (1 - 5 t …))), solved for
// x.
inline double inverseErfcFar(double tail) {
  const double log_tail = log(tail);
  double x = __builtin_sqrt(-log_tail);
  for (int step = 0; step < 7; ++step) {
    const double t = 0.5 / (x * x);
    double series = 1;
    for (int odd = 13; odd >= 1; odd -= 2) {
      series = 1 - odd * t * series;
    }
    x = __builtin_sqrt(log(series) - log(x * 1.77245385090551602730) - log_tail);
  }
  return x;
}
// Inverse error functions: a starting value (Giles), then Newton steps on erfc, which keeps
// relative accuracy in the tails.
inline double erfinv(double x);
inline double erfcinv(double y) {
  if (!(y >= 0 && y <= 2)) {
    return __builtin_nan("");
  }
  if (y > 0.75 && y < 1.25) {  // 1 − y is exact, and near 1 the result has its digits
    return erfinv(1 - y);
  }
  if (y == 0) {
    return __builtin_inf();
  }
  if (y == 2) {
    return -__builtin_inf();
  }
  if (y < 1e-290) {
    return inverseErfcFar(y);
  }
  double tail = y < 1 ? y : 2 - y;
  double t = __builtin_sqrt(-2.0 * log(tail / 2));
  double x = -0.70711 * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t);
  for (int i = 0; i < 4; ++i) {
    double e = erfc(x) - tail;
    double slope = 1.12837916709551257 * exp(-x * x);
    if (!(slope > 0)) {
      break;
    }
    x += e / (slope - x * e);
  }
  return y < 1 ? x : -x;
}
inline double erfinv(double x) {
  if (!(x >= -1 && x <= 1)) {
    return __builtin_nan("");
  }
  if (__builtin_fabs(x) > 0.5) {
    return x > 0 ? erfcinv(1 - x) : -erfcinv(1 + x);
  }
  double r = x * 0.88622692545275801;
  for (int i = 0; i < 6; ++i) {
    double e = erf(r) - x;
    r -= e / (1.12837916709551257 * exp(-r * r) + r * e);
  }
  return x == 0 ? x : r;
}
inline float erfinvf(float x) { return (float)erfinv((double)x); }
inline float erfcinvf(float x) { return (float)erfcinv((double)x); }
inline double erfcx(double x) { return exp(x * x) * erfc(x); }
inline float erfcxf(float x) { return (float)erfcx((double)x); }
inline double normcdf(double x) { return 0.5 * erfc(-0.70710678118654752440 * x); }
inline float normcdff(float x) { return (float)normcdf((double)x); }
inline double normcdfinv(double x) { return -1.41421356237309504880 * erfcinv(2 * x); }
inline float normcdfinvf(float x) { return (float)normcdfinv((double)x); }

// Fast ones: the emulator gives the exact result.
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

#define NVF_MINMAX(type)                                    \
  inline type min(type a, type b) { return b < a ? b : a; } \
  inline type max(type a, type b) { return a < b ? b : a; }
NVF_MINMAX(int)
NVF_MINMAX(unsigned)
NVF_MINMAX(long)
NVF_MINMAX(unsigned long)
NVF_MINMAX(long long)
NVF_MINMAX(unsigned long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

// Each text lives in a namespace; a text's own overloads must not hide these.
#define NVF_USE_GLOBAL_FUNCTIONS \
  using ::abs;                   \
  using ::min;                   \
  using ::max;                   \
  using ::sqrt;                  \
  using ::cbrt;                  \
  using ::exp;                   \
  using ::exp2;                  \
  using ::expm1;                 \
  using ::log;                   \
  using ::log2;                  \
  using ::log10;                 \
  using ::log1p;                 \
  using ::sin;                   \
  using ::cos;                   \
  using ::tan;                   \
  using ::asin;                  \
  using ::acos;                  \
  using ::atan;                  \
  using ::sinh;                  \
  using ::cosh;                  \
  using ::tanh;                  \
  using ::asinh;                 \
  using ::acosh;                 \
  using ::atanh;                 \
  using ::erf;                   \
  using ::erfc;                  \
  using ::floor;                 \
  using ::ceil;                  \
  using ::trunc;                 \
  using ::round;                 \
  using ::rint;                  \
  using ::fabs;                  \
  using ::pow;                   \
  using ::atan2;                 \
  using ::fmod;                  \
  using ::hypot;                 \
  using ::fmin;                  \
  using ::fmax;                  \
  using ::fma;                   \
  using ::rsqrt;                 \
  using ::isnan;                 \
  using ::isinf;                 \
  using ::isfinite;              \
  using ::signbit;               \
  using ::copysign;              \
  using ::lgamma;                \
  using ::tgamma;

// --- what the snippets' host twins use -----------------------------------------------------------
NVF_RAW static void __nvf_grid_barrier(const void* key, unsigned expected, NVF_LINE) {
  __nvf_hooks->grid_barrier(key, expected, line);
}
NVF_RAW static void __nvf_cluster_barrier(NVF_LINE) { __nvf_hooks->cluster_barrier(line); }
NVF_RAW static void* __nvf_map_shared_rank(const void* p, unsigned rank, NVF_LINE) {
  return __nvf_hooks->map_shared_rank(p, rank, line);
}
NVF_RAW static void __nvf_async_copy(void* shared, const void* global, unsigned size,
                                     unsigned source_size) {
  __nvf_hooks->async_copy(shared, global, size, source_size, NVF_PC);
}
NVF_RAW static void __nvf_async_commit() { __nvf_hooks->async_commit(); }
NVF_RAW static void __nvf_async_wait(unsigned groups) { __nvf_hooks->async_wait(groups); }
NVF_RAW static void __nvf_mbarrier_init(void* barrier, unsigned arrivals) {
  __nvf_hooks->mbarrier_init(barrier, arrivals, NVF_PC);
}
NVF_RAW static void __nvf_mbarrier_expect(void* barrier, unsigned bytes) {
  __nvf_hooks->mbarrier_expect(barrier, bytes, NVF_PC);
}
NVF_RAW static void __nvf_mbarrier_arrive(void* barrier) {
  __nvf_hooks->mbarrier_arrive(barrier, NVF_PC);
}
NVF_RAW static void __nvf_mbarrier_wait(void* barrier, unsigned parity) {
  __nvf_hooks->mbarrier_wait(barrier, parity, NVF_PC);
}
NVF_RAW static void __nvf_fence_async_proxy() { __nvf_hooks->fence_async_proxy(); }
NVF_RAW static void __nvf_bulk_load(void* shared, const void* global, unsigned bytes,
                                    void* barrier) {
  __nvf_hooks->bulk_load(shared, global, bytes, barrier, NVF_PC);
}
NVF_RAW static void __nvf_bulk_store(void* global, const void* shared, unsigned bytes) {
  __nvf_hooks->bulk_store(global, shared, bytes, NVF_PC);
}
NVF_RAW static void __nvf_box_load(void* shared, const void* map, const int* at, void* barrier) {
  __nvf_hooks->box_load(shared, map, at, barrier, NVF_PC);
}
NVF_RAW static void __nvf_box_store(const void* map, const int* at, const void* shared) {
  __nvf_hooks->box_store(map, at, shared, NVF_PC);
}
NVF_RAW static void __nvf_named_barrier(unsigned id, unsigned threads, NVF_LINE) {
  __nvf_hooks->named_barrier(id, threads, line);
}
NVF_RAW static void __nvf_set_registers(unsigned count, NVF_LINE) {
  __nvf_hooks->set_registers(count, line);
}
NVF_RAW static void __nvf_grid_dependency_wait() { __nvf_hooks->grid_dependency_wait(); }
NVF_RAW static void __nvf_bulk_commit() { __nvf_hooks->bulk_commit(); }
NVF_RAW static void __nvf_bulk_wait_read(unsigned groups) { __nvf_hooks->bulk_wait_read(groups); }

// --- entries -------------------------------------------------------------------------------------
template <class T>
struct __nvf_is_pointer {
  static constexpr unsigned char value = 0;
};
template <class T>
struct __nvf_is_pointer<T*> {
  static constexpr unsigned char value = 1;
};
template <int... I>
struct __nvf_indices {};
template <int N, int... I>
struct __nvf_count : __nvf_count<N - 1, N - 1, I...> {};
template <int... I>
struct __nvf_count<0, I...> {
  using type = __nvf_indices<I...>;
};
template <class... P>
struct __nvf_signature {
  static constexpr unsigned char pointers[sizeof...(P) + 1] = {__nvf_is_pointer<P>::value..., 0};
  template <int... I>
  NVF_RAW static void call(void (*kernel)(P...), void* const* args, __nvf_indices<I...>) {
    kernel(*static_cast<P*>(args[I])...);
  }
};
template <class... P>
__nvf_signature<P...> __nvf_signature_of(void (*)(P...));
template <class... P>
NVF_RAW void __nvf_call(void (*kernel)(P...), void* const* args) {
  __nvf_signature<P...>::call(kernel, args, typename __nvf_count<sizeof...(P)>::type());
}
template <class... P>
constexpr int __nvf_arity(void (*)(P...)) {
  return sizeof...(P);
}
#define NVF_ENTRY(kernel)                                                                        \
  NVF_RAW static void __nvf_run_##kernel(void* const* args) { __nvf_call(&kernel, args); }       \
  extern "C" {                                                                                   \
  NVF_EXPORT extern const NvfKernelEntry __nvf_entry_##kernel;                                   \
  const NvfKernelEntry __nvf_entry_##kernel = {&__nvf_run_##kernel, __nvf_arity(&kernel),        \
                                               decltype(__nvf_signature_of(&kernel))::pointers}; \
  }
