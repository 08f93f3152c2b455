// Lanes whose elements do not lie side by side, but near each other.
//
//   lanesStrided<N, S>(p, n)      p[0], p[S], …, of the first n lanes: a component of points, a
//                                 colour of pixels; S whole vectors are read and shuffled
//   lanesBackwards<N>(p, n)       p[0], p[-1], …: a row from its end
//   lanesStridedBack<N, S>(p, n)  p[0], p[-S], …: a colour of pixels, from the last one on
//   lanesSpaced<N>(p, s, n)       the same of a distance that the call knows, any
//   lanesPeriodic<N, P>(p, i)     p[i], p[(i + 1) % P], …, for 0 <= i < P <= N: what differs from
//                                 colour to colour
//   lanesPicked<o, p, …>(q, n)    q[o], q[p], …: one vector, shuffled, where they are near
//   lanesInPeriod<N, P>(i)        i, (i + 1) % P, …, for 0 <= i < P
//   lanesPeriodBound<P>(b)        what its lanes compare with as they would with b
//   lanesInSteps<N, P>(i)         0, (i + 1) / P, …, for 0 <= i < P
//   lanesRepeated<N, C>(p, i, n)  p[0], p[(i + 1) / C], p[(i + 2) / C], …, for 0 <= i < C, a power
//                                 of two: pixels of a smaller image
//
// needs: cpu/lanes.h
template <class V, int S>
__forceinline__ V lanesPick(const V* parts) {
  constexpr int N = kLanes<V>;
#if defined(__clang__)
  V result;
  for (int e = 0; e < N; e++) {
    const int at = e * S;
    result[e] = at < (S - 1) * N ? parts[at / N][at % N] : parts[S - 1][at - (N - 1) * S + N - 1];
  }
  return result;
#else
  // One part after the other puts its elements in.
  V result = parts[0];
  MaskOf<V> from;
  for (int e = 0; e < N; e++) {
    from[e] = e * S < N ? e * S : 0;
  }
  result = __builtin_shuffle(result, from);
  for (int part = 1; part < S; part++) {
    const int begin =
        part < S - 1 ? part * N : (N - 1) * S + 1 - N;  // the last ends with an element
    for (int e = 0; e < N; e++) {
      const bool mine = e * S >= part * N && e * S < (part + 1) * N;
      from[e] = mine ? N + e * S - begin : e;
    }
    result = __builtin_shuffle(result, parts[part], from);
  }
  return result;
#endif
}
template <int N, int S, class B>
__forceinline__ Simd<B, N> lanesEachSth(const B* from) {
  Simd<B, N> parts[S];
  for (int part = 0; part < S; part++) {
    const int begin = part < S - 1 ? part * N : (N - 1) * S + 1 - N;
    parts[part] = *(const typename SimdOf<B, N>::anywhere*)(from + begin);
  }
  return lanesPick<Simd<B, N>, S>(parts);
}
template <int N, int S, class T>
__forceinline__ Lanes<T, N> lanesStrided(const T* p, i64 n) {
  using B = typename LaneFor<T>::bits;
  const B* from = (const B*)p;
  if (__builtin_expect(n >= N, 1)) {
    return lanesFromBits<T, N>(lanesEachSth<N, S>(from));
  }
  B elements[N] = {};
  for (i64 e = 0; e < n; e++) {
    elements[e] = from[e * S];
  }
  return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)elements);
}

template <class V>
__forceinline__ V lanesTurned(V v) {
  constexpr int N = kLanes<V>;
#if defined(__clang__)
  V turned;
  for (int e = 0; e < N; e++) {
    turned[e] = v[N - 1 - e];
  }
  return turned;
#else
  MaskOf<V> from;
  for (int e = 0; e < N; e++) {
    from[e] = N - 1 - e;
  }
  return __builtin_shuffle(v, from);
#endif
}
template <int N, class T>
__forceinline__ Lanes<T, N> lanesBackwards(const T* p, i64 n) {
  using B = typename LaneFor<T>::bits;
  if (__builtin_expect(n >= N, 1)) {
    const auto v = (Simd<B, N>)*(const typename SimdOf<B, N>::anywhere*)((const B*)p - (N - 1));
    return lanesFromBits<T, N>(lanesTurned(v));
  }
  B elements[N] = {};
  for (i64 e = 0; e < n; e++) {
    elements[e] = ((const B*)p)[-e];
  }
  return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)elements);
}

template <int N, int S, class T>
__forceinline__ Lanes<T, N> lanesStridedBack(const T* p, i64 n) {
  using B = typename LaneFor<T>::bits;
  const B* from = (const B*)p;
  if (__builtin_expect(n >= N, 1)) {
    return lanesFromBits<T, N>(lanesTurned(lanesEachSth<N, S>(from - (N - 1) * S)));
  }
  B elements[N] = {};
  for (i64 e = 0; e < n; e++) {
    elements[e] = from[-e * S];
  }
  return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)elements);
}

// (Called: the four ways, inlined wherever a loop is written out, take a compiler seconds.)
template <int N, class T>
__attribute__((noinline)) static Lanes<T, N> lanesSpacedApart(const T* p, i64 distance, i64 n) {
  if (distance == 2) {
    return lanesStrided<N, 2>(p, n);
  }
  if (distance == 3) {
    return lanesStrided<N, 3>(p, n);
  }
  if (distance == 4) {
    return lanesStrided<N, 4>(p, n);
  }
  using B = typename LaneFor<T>::bits;
  const B* from = (const B*)p;
  if (__builtin_expect(n >= N, 1)) {
    return lanesFromBits<T, N>(lanesMade<Simd<B, N>>(
        [&](i64 e) __attribute__((always_inline)) { return from[e * distance]; }));
  }
  B elements[N] = {};
  for (i64 e = 0; e < n; e++, from += distance) {
    elements[e] = *from;
  }
  return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)elements);
}
template <int N, class T>
__forceinline__ Lanes<T, N> lanesSpaced(const T* p, i64 distance, i64 n) {
  return __builtin_expect(distance == 1, 1) ? lanesRead<N>(p, n)
                                            : lanesSpacedApart<N>(p, distance, n);
}

template <int N, int P, class T>
__forceinline__ Lanes<T, N> lanesPeriodic(const T* p, i64 first) {
  using B = typename LaneFor<T>::bits;
  using V = Simd<B, N>;
#if defined(__clang__)
  V result;
  for (int e = 0; e < N; e++) {
    result[e] = ((const B*)p)[(first + e) % P];
  }
  return lanesFromBits<T, N>(result);
#else
  using I = LaneOf<MaskOf<V>>;
  const V all = lanesMade<V>(
      [&](int e) __attribute__((always_inline)) { return e < P ? ((const B*)p)[e] : B(0); });
  MaskOf<V> from;
  for (int e = 0; e < N; e++) {
    from[e] = (I)(e % P);
  }
  from += (I)first;
  from = from >= (I)P ? from - (I)P : from;
  return lanesFromBits<T, N>(__builtin_shuffle(all, from));
#endif
}

template <int... kOffsets, class T>
__forceinline__ auto lanesPicked(const T* p, i64 n) {
  constexpr int N = sizeof...(kOffsets);
  constexpr i64 kPlaces[] = {kOffsets...};
  using B = typename LaneFor<T>::bits;
  using V = Simd<B, N>;
  constexpr auto kLast = [](const auto& places) {
    i64 last = 0;
    for (const i64 place : places) {  // as unsigned numbers: one in front of the first is far
      last = (u64)place > (u64)last ? place : last;
    }
    return last;
  }(kPlaces);
  const B* from = (const B*)p;
  if (__builtin_expect(n >= N, 1)) {
#if !defined(__clang__)
    if constexpr ((u64)kLast < N) {
      const V near = kLast == N - 1 ? *(const typename SimdOf<B, N>::anywhere*)from
                                    : lanesReadPart<N, B>(from, kLast + 1);
      return lanesFromBits<T, N>(
          __builtin_shuffle(near, MaskOf<V>{(LaneOf<MaskOf<V>>)kOffsets...}));
    }
#endif
    return lanesFromBits<T, N>(V{from[kOffsets]...});
  }
  B elements[N] = {};
  for (i64 e = 0; e < n; e++) {
    elements[e] = from[kPlaces[e]];
  }
  return lanesFromBits<T, N>(*(const typename SimdOf<B, N>::anywhere*)elements);
}

template <int N, int P>
__forceinline__ Simd<i32, N> lanesInPeriod(i64 first) {
  Simd<i32, N> place;
  for (int e = 0; e < N; e++) {
    place[e] = e % P;
  }
  place += (i32)first;
  return place >= P ? place - P : place;
}
template <int P>
__forceinline__ i32 lanesPeriodBound(i64 bound) {
  return bound < 0 ? -1 : bound > P ? P : (i32)bound;
}
template <int N, int P>
__forceinline__ Simd<i32, N> lanesInSteps(i64 first) {
  Simd<i32, N> steps, rest;
  for (int e = 0; e < N; e++) {
    steps[e] = e / P;
    rest[e] = e % P;
  }
  return steps - (rest + (i32)first >= P);
}

template <int N, int C, class T>
__forceinline__ Lanes<T, N> lanesRepeated(const T* p, i64 first, i64 n) {
  using B = typename LaneFor<T>::bits;
  using V = Simd<B, N>;
  constexpr int kWhole = (N - 1) / C + 1;  // elements that there are, whatever `first` is
  const B* from_p = (const B*)p;
  V all;
  if (__builtin_expect(n >= N, 1)) {
    all = lanesMade<V>([&](int e) __attribute__((always_inline)) {
      return e <= kWhole ? from_p[e < kWhole ? e : (first + N - 1) / C] : B(0);
    });
  } else {
    B elements[N] = {};
    for (i64 e = 0; e < n; e++) {
      elements[(first + e) / C] = from_p[(first + e) / C];
    }
    all = *(const typename SimdOf<B, N>::anywhere*)elements;
  }
#if defined(__clang__)
  V result;
  for (int e = 0; e < N; e++) {
    result[e] = all[(first + e) / C];
  }
  return lanesFromBits<T, N>(result);
#else
  MaskOf<V> from;
  for (int e = 0; e < N; e++) {
    from[e] = e;
  }
  from = (from + (LaneOf<MaskOf<V>>)first) >> __builtin_ctz(C);
  return lanesFromBits<T, N>(__builtin_shuffle(all, from));
#endif
}
