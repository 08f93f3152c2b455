// Memory whose accesses are checked (NVFUSER_ENABLE=bounds): a pointer that knows what it leads to.
//
//   Checked<const float> T0{p, bounds, 0};    the kernel's tensor argument 0
//   T0[i]                 an element; outside of the memory a spare one, zero, that nobody else has
//   T0 + i                from element i on; an address is made by an access alone
//   T0.has(i, n)          whether elements i, …, i + n - 1 lie there; if not, that is reported
//
// bounds: three words that tell of an access outside, one of all of the launch: the argument, from
// 1 (0: there was none), the first element, how many. Then for each argument its first element and
// its last one + 1.
//
// needs: cpu/prelude.h
template <class T>
struct CheckedElement {
  typedef T type;
};
template <class T>
struct CheckedElement<const T> {
  typedef T type;
};

__attribute__((noinline, cold)) static void reportOutside(i64* bounds, i64 argument, i64 first,
                                                          i64 count) {
  i64 none = 0;
  if (__atomic_compare_exchange_n(bounds, &none, argument + 1, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED)) {
    bounds[1] = first;
    bounds[2] = count;
  }
}

template <class T>
struct Checked {
  using Element = typename CheckedElement<T>::type;

  T* const elements;
  i64* const bounds;
  const i64 argument;
  const i64 place = 0;
  mutable Element spare;

  __forceinline__ Checked(T* p, i64* table, i64 tensor, i64 at = 0)
      : elements(p), bounds(table), argument(tensor), place(at) {}

  bool has(i64 index, i64 count) const {
    const i64 first = (i64)((u64)place + (u64)index);
    const i64 begin = bounds[3 + 2 * argument], end = bounds[4 + 2 * argument];
    if (count <= 0 || (first >= begin && first < end && count <= end - first)) {
      return true;
    }
    reportOutside(bounds, argument, first, count);
    return false;
  }
  T& operator[](i64 index) const {
    if (!has(index, 1)) {
      spare = Element{};
      return spare;
    }
    return elements[place + index];
  }
  Checked operator+(i64 index) const {
    return Checked(elements, bounds, argument, (i64)((u64)place + (u64)index));
  }
  Checked operator-(i64 index) const {
    return Checked(elements, bounds, argument, (i64)((u64)place - (u64)index));
  }
  /// Where it leads, which `has` must have said.
  T* pointer() const { return elements + place; }
};
