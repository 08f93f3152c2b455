// Indices from memory, held to the axis that is read at them: one that lies outside counts as the
// last, so that a kernel reads nothing there, and the block says so at its end. (The branch is
// never taken, and cheaper than minimum and maximum; memory is left alone until the end, so that
// loops around it need not reload anything.)
//
//   IndexRange range0{u64(extent) - 1};   an axis that has elements
//   const Index at0 = range0(T1[i]);
//   range0.report(wrong_index, 1);
//
// needs: cpu/prelude.h

struct IndexRange {
  const u64 last;
  u64 outside = 0;  // the latest index beyond `last`, as negative ones are too; none is 0

  __forceinline__ i64 operator()(i64 index) {
    if (__builtin_expect(static_cast<u64>(index) > last, 0)) {
      outside = static_cast<u64>(index);
      return static_cast<i64>(last);
    }
    return index;
  }
  /// {which, index}, by the first block that finds something to report.
  __forceinline__ void report(i64* wrong, i64 which) const {
    i64 none = 0;
    if (outside != 0 && __atomic_compare_exchange_n(wrong, &none, which, false, __ATOMIC_RELAXED,
                                                    __ATOMIC_RELAXED)) {
      wrong[1] = static_cast<i64>(outside);
    }
  }
};
