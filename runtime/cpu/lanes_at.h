// Memory read at indices that are in memory themselves. Most of them lie side by side all the same:
// in a padded row, a window, a part of a picture; or near each other, as in one that is stretched.
//
//   lanesHeld(range, at, n)       range(at[e]) of the first n lanes
//   lanesAt<N>(p, at, n)          p[at[e]], of the first n lanes: one vector where indices go up by
//                                 one from lane to lane, and one that is shuffled where they lie
//                                 between the first and the last, as near as that
//   lanesAt<N>(p, at, n, last)    the same, where all from p[0] to p[last] is memory: of a short
//                                 table two vectors are shuffled
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
  using U = LaneOf<LanesUnsigned<V>>;
  constexpr u64 kMost = U(-1) >> 1;
  const U last = (U)(range.last < kMost ? range.last : kMost);
  if (__builtin_expect(simdAny((LanesUnsigned<V>)at > last), 0)) {
    return lanesHeldEach(range, at, n);
  }
  return at;
}

template <int N, class T>
__forceinline__ Lanes<T, N> lanesAt(const T* p, Simd<i64, N> at, i64 n) {
  using B = typename LaneFor<T>::bits;
  using V = Simd<B, N>;
  const B* from = (const B*)p;
  const i64 first = at[0], last = at[N - 1];
  if (n >= N && last - first == N - 1 && !simdAny(at != lanesFrom<N>(first, 1))) {
    return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)(from + first));
  }
#if !defined(__clang__)
  // All between the first and the last lane's: what lies there is memory.
  const i64 least = first < last ? first : last, distance = (first < last ? last : first) - least;
  const Simd<u64, N> place = (Simd<u64, N>)(at - least);
  if (n >= N && distance < N && !simdAny(place > (u64)distance)) {
    const V near = distance == N - 1 ? *(const typename SimdOf<B, N>::anywhere*)(from + least)
                                     : lanesReadPart<N, B>(from + least, distance + 1);
    return lanesFromBits<T, N>(__builtin_shuffle(near, __builtin_convertvector(place, MaskOf<V>)));
  }
#endif
  if (__builtin_expect(n >= N, 1)) {
    return lanesFromBits<T, N>(
        lanesMade<V>([&](int e) __attribute__((always_inline)) { return from[at[e]]; }));
  }
  B elements[N] = {};
  for (int e = 0; e < N && e < n; e++) {
    elements[e] = from[at[e]];
  }
  return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)elements);
}
template <int N, class T>
__forceinline__ Lanes<T, N> lanesAt(const T* p, Simd<i64, N> at, i64 n, u64 last) {
#if !defined(__clang__)
  if (last < 2 * N) {
    using B = typename LaneFor<T>::bits;
    using V = Simd<B, N>;
    const B* from = (const B*)p;
    const auto part = [&](i64 begin) __attribute__((always_inline)) -> V {
      return (i64)last >= begin + N - 1 ? *(const typename SimdOf<B, N>::anywhere*)(from + begin)
                                        : lanesReadPart<N, B>(from + begin, last + 1 - begin);
    };
    const V low = part(0), high = last < N ? low : part(N);
    return lanesFromBits<T, N>(
        __builtin_shuffle(low, high, __builtin_convertvector(at, MaskOf<V>)));
  }
#endif
  return lanesAt<N>(p, at, n);
}
