// Mean and variance in one pass: the monoid (count, mean, sum of squared deviations).
//
//   Welford<T> w = Welford<T>::identity(); w.push(x); Welford<T>::combine(a, b)
//
// T is float or double; the count is a T too (exact up to 2^24 elements in float, which is enough
// for the ratio used). Combining with an empty state gives the other unchanged, bit for bit. An
// empty state has no mean: NaN, which is also the result of no numbers at all.
//
// needs: basics.cuh
template <class T>
struct Welford {
  T count;
  T mean;
  T m2;

  __device__ static __forceinline__ Welford identity() { return {T(0), quietNan<T>(), T(0)}; }
  __device__ __forceinline__ void push(T x) {
    count += T(1);
    const bool first = count == T(1);
    const T before = first ? T(0) : mean;
    T delta = x - before;
#ifdef NVFUSER_HOST
    mean = first ? x : before + delta / count;
#else
    mean = before + delta / count;
#endif
    m2 += delta * (x - mean);
  }
  __device__ static __forceinline__ Welford combine(const Welford& a, const Welford& b) {
    if (b.count == T(0)) {
      return a;
    }
    if (a.count == T(0)) {
      return b;
    }
    T count = a.count + b.count;
    T share = b.count / count;
    T delta = b.mean - a.mean;
    return {count, a.mean + delta * share, a.m2 + b.m2 + delta * delta * a.count * share};
  }
};
