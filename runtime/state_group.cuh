// States of neighbouring columns, which cross a block or the grid together: one exchange, and one
// barrier, for all of them.
//
//   StateGroup<S, N>   N states S (Welford<float>, OnlineSoftmax<float>), with S's combine and
//                      identity for each
//
// needs: basics.cuh
template <class S, int N>
struct StateGroup {
  S of[N];

  __device__ static __forceinline__ StateGroup identity() {
    StateGroup group;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      group.of[i] = S::identity();
    }
    return group;
  }
  // A function of its own: some hundred lines for each step of a tree are seconds of a compiler.
  __device__ static __attribute__((noinline)) StateGroup combine(const StateGroup& a,
                                                                 const StateGroup& b) {
    StateGroup group;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      group.of[i] = S::combine(a.of[i], b.of[i]);
    }
    return group;
  }
};
