// Vectors read from and written to memory whose accesses are checked: cpu/lanes.h, where a vector
// that is not all in its memory is left out. Read, its lanes are 0.
//
// needs: cpu/lanes.h cpu/checked.h
template <int N, class T>
Lanes<typename Checked<T>::Element, N> lanesRead(const Checked<T>& p, i64 n) {
  if (!p.has(0, n < N ? n : N)) {
    return Lanes<typename Checked<T>::Element, N>{};
  }
  return lanesRead<N>((const typename Checked<T>::Element*)p.pointer(), n);
}
template <class T, class V>
void lanesWrite(const Checked<T>& p, V v, i64 n) {
  if (p.has(0, n < kLanes<V> ? n : kLanes<V>)) {
    lanesWrite(p.pointer(), v, n);
  }
}
template <class T, class V>
void lanesStream(const Checked<T>& p, V v, i64 n) {
  if (p.has(0, n < kLanes<V> ? n : kLanes<V>)) {
    lanesStream(p.pointer(), v, n);
  }
}
template <int N, class T>
Lanes<typename Checked<T>::Element, N> lanesWindow(
    const Checked<T>& p, i64 i, i64 first, i64 end,
    Lanes<typename Checked<T>::Element, N> otherwise) {
  const i64 from = first > 0 ? first : 0, to = end < N ? end : N;
  if (from < to && !p.has(i + from, to - from)) {
    return otherwise;
  }
  return lanesWindow<N>((const typename Checked<T>::Element*)p.elements, i, first, end, otherwise);
}
