// Entries of a scatter, each to its place along one axis of a tensor of up to eight axes.
//
//   scatterEntries<Op>(index, source, out, form)
//
// Op: Stored (of those who write to one place, one stays), or Added, Multiplied, Greatest, Least,
// for elements of 4 and 8 bytes, in any order; NaN is greater and less than all. Threads of a grid
// along x have an entry each. An index that the axis does not have is left out.
//
// needs: basics.cuh combine_at.cuh
struct ScatterForm {  // as in csrc/runtime/device_scatters.cpp
  i64 entries, extent, axis, axes;
  i64 sizes[8], index[8], source[8], out[8];  // the index's sizes; strides
};

struct Stored {
  template <class T>
  static __device__ __forceinline__ void put(T* to, const T& value) {
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
      using Word = typename AtomicWord<sizeof(T)>::type;
      storeAt(reinterpret_cast<Word*>(to), bitCast<Word>(value));
    } else {
      *to = value;
    }
  }
};
struct Added {
  template <class T>
  static __device__ __forceinline__ void put(T* to, const T& value) {
    addAt(to, value);
  }
};
struct Multiplied {
  template <class T>
  static __device__ __forceinline__ void put(T* to, const T& value) {
    combineAt(to, [&](T there) { return there * value; });
  }
};
struct Greatest {
  template <class T>
  static __device__ __forceinline__ void put(T* to, const T& value) {
    combineAt(to, [&](T there) { return there > value || there != there ? there : value; });
  }
};
struct Least {
  template <class T>
  static __device__ __forceinline__ void put(T* to, const T& value) {
    combineAt(to, [&](T there) { return there < value || there != there ? there : value; });
  }
};

template <class Op, class Index, class T>
__device__ __forceinline__ void scatterEntries(const Index* index, const T* source, T* out,
                                               const ScatterForm& form) {
  i64 rest = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (rest >= form.entries) {
    return;
  }
  i64 from_index = 0, from_source = 0, to = 0;
  for (i64 axis = form.axes - 1; axis >= 0; --axis) {
    const i64 at = rest % form.sizes[axis];
    rest /= form.sizes[axis];
    from_index += at * form.index[axis];
    from_source += at * form.source[axis];
    to += axis == form.axis ? 0 : at * form.out[axis];
  }
  const i64 place = (i64)index[from_index];
  if (place < 0 || place >= form.extent) {
    return;
  }
  Op::put(out + to + place * (form.axes == 0 ? 1 : form.out[form.axis]), source[from_source]);
}
