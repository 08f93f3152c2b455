// Mean and variance of neighbouring columns, which cross a block or the grid together.
//
//   blockAllReduce<X, Y, Z>(group, smem)   as in block_reduce.cuh, of a StateGroup<Welford<T>, N>
//
// A block combines them by three sums of N numbers each, which need no division and no branch:
// with n, m, q the count, mean and squared deviations of each thread,
//
//   count = sum n,   mean = sum m (n / count),   m2 = sum q + n (m - mean)^2
//
// (Chan, Golub, LeVeque, "Algorithms for computing the sample variance", 1983, for many parts.)
//
// needs: basics.cuh block_part.cuh warp_reduce.cuh block_reduce.cuh state_group.cuh welford.cuh
template <class T, int N>
struct SumsOfColumns {
  T of[N];

  __device__ static __forceinline__ SumsOfColumns combine(const SumsOfColumns& a,
                                                          const SumsOfColumns& b) {
    SumsOfColumns sums;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      sums.of[i] = a.of[i] + b.of[i];
    }
    return sums;
  }
};

template <bool X, bool Y, bool Z, class Part = WholeBlock, class T, int N>
__device__ __forceinline__ StateGroup<Welford<T>, N> blockAllReduce(StateGroup<Welford<T>, N> own,
                                                                    void* smem) {
  using Sums = SumsOfColumns<T, N>;
  StateGroup<Welford<T>, N> all;
  Sums sums;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    sums.of[i] = own.of[i].count;
  }
  sums = blockAllReduce<X, Y, Z, Part, Sums>(sums, smem);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    all.of[i].count = sums.of[i];
    const bool none = own.of[i].count == T(0);
    sums.of[i] = none ? T(0) : own.of[i].mean * (own.of[i].count / all.of[i].count);
  }
  Part::sync();
  sums = blockAllReduce<X, Y, Z, Part, Sums>(sums, smem);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    all.of[i].mean = all.of[i].count == T(0) ? quietNan<T>() : sums.of[i];
    const bool none = own.of[i].count == T(0);
    const T delta = none ? T(0) : own.of[i].mean - all.of[i].mean;
    sums.of[i] = own.of[i].m2 + own.of[i].count * (delta * delta);
  }
  Part::sync();
  sums = blockAllReduce<X, Y, Z, Part, Sums>(sums, smem);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    all.of[i].m2 = sums.of[i];
  }
  return all;
}
