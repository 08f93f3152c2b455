// Memory read at indices that are in memory themselves. Most of them lie side by side all the same:
// in a padded row, a window, a part of a picture.
//
//   lanesHeld(range, at, n)       range(at[e]) of the first n lanes
//   lanesAt<N>(p, at, n)          p[at[e]], of the first n lanes: one vector where indices go up by
//                                 one, or down, from lane to lane
//
// needs: cpu/lanes.h cpu/index_range.h
template <class V>
__attribute__((noinline, cold)) static V lanesHeldEach(IndexRange& range, V at, i64 n) {
  for (int e = 0; e < kLanes<V>; e++) {
    at[e] = e < n ? range(at[e]) : 0;
  }
  return at;
}
template <class V>
__forceinline__ V lanesHeld(IndexRange& range, V at, i64 n) {
  if (__builtin_expect(simdAny((LanesUnsigned<V>)at > range.last), 0)) {
    return lanesHeldEach(range, at, n);
  }
  return at;
}

template <class V>
__forceinline__ V lanesReversed(V v) {
#if defined(__clang__)
  V result;
  for (int e = 0; e < kLanes<V>; e++) {
    result[e] = v[kLanes<V> - 1 - e];
  }
  return result;
#else
  MaskOf<V> from;
  for (int e = 0; e < kLanes<V>; e++) {
    from[e] = kLanes<V> - 1 - e;
  }
  return __builtin_shuffle(v, from);
#endif
}
template <int N, class T>
__forceinline__ Lanes<T, N> lanesAt(const T* p, Simd<i64, N> at, i64 n) {
  using B = typename LaneFor<T>::bits;
  const B* from = (const B*)p;
  const i64 first = at[0], way = at[N - 1] - first;
  if (n >= N && way == N - 1 && !simdAny(at != lanesFrom<N>(first, 1))) {
    return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)(from + first));
  }
  if (n >= N && way == 1 - N && !simdAny(at != lanesFrom<N>(first, -1))) {
    return lanesFromBits<T, N>(
        lanesReversed(*(const typename SimdOf<B, N>::anywhere*)(from + first - (N - 1))));
  }
  B elements[N] = {};
  for (int e = 0; e < N && e < n; e++) {
    elements[e] = from[at[e]];
  }
  return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)elements);
}
