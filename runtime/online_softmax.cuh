// The greatest element and Σ exp(x − greatest) in one pass: the monoid (max, sum).
//
//   OnlineSoftmax<T> s = OnlineSoftmax<T>::identity(); s.push(x); OnlineSoftmax<T>::combine(a, b)
//
// T is float or double. Each step costs one exponential, whether the greatest changes or not.
// Combining with an empty state gives the other unchanged. Without an element above −∞, max is the
// lowest number and sum 0; beside +∞ the sum may be anything; a NaN makes both NaN.
//
// needs: math.cuh
template <class T>
struct OnlineSoftmax {
  T max;
  T sum;

  __device__ static __forceinline__ OnlineSoftmax identity() { return {lowest(), T(0)}; }
  __device__ __forceinline__ void push(T x) {
    const T above = x - max;
    const T share = decay(above);
    sum = (above > T(0) ? sum : T(1)) * share + (above > T(0) ? T(1) : sum);
    max = maxNan(max, x);
  }
  __device__ static __forceinline__ OnlineSoftmax combine(const OnlineSoftmax& a,
                                                          const OnlineSoftmax& b) {
    const T above = b.max - a.max;
    const T share = decay(above);
    return {maxNan(a.max, b.max),
            (above > T(0) ? a.sum : b.sum) * share + (above > T(0) ? b.sum : a.sum)};
  }

 private:
  __device__ static __forceinline__ T lowest() {
    if constexpr (sizeof(T) == 4) {
      return -3.402823466e+38f;
    } else {
      return -1.7976931348623157e+308;
    }
  }
  // exp(−|distance|). What rounding the product adds to a term, 2⁻²⁴·d·exp(−d), is below the half
  // unit in the last place of a sum that is at least 1; so are the terms that are flushed to zero.
  __device__ static __forceinline__ T decay(T distance) {
    if constexpr (sizeof(T) == 4) {
#ifdef NVFUSER_EMULATED
      return expf(-fabsf(distance));
#else
      float result;
      asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(fabsf(distance) * -1.442695041f));
      return result;
#endif
    } else {
      return exp(-fabs(distance));
    }
  }
};
