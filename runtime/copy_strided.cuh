// Elements of a tensor to another one of its sizes, each with strides of its own.
//
//   copyStrided<Index, T>(from, to, form)   for elements T of 1, 2, 4, 8 or 16 bytes and up to
//                                           eight axes; Index holds the number of elements
//
// Threads of a grid along x have an element each; neighbours go along the last axis of the form.
//
// needs: basics.cuh
struct CopyForm {  // as in csrc/runtime/strided_copy.cpp
  i64 elements, axes;
  i64 sizes[8], from[8], to[8];  // strides
};

template <class Index, class T>
__device__ __forceinline__ void copyStrided(const void* from, void* to, const CopyForm& form) {
  const i64 number = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= form.elements) {
    return;
  }
  Index rest = (Index)number;
  i64 source = 0, target = 0;
  for (i64 axis = form.axes - 1; axis >= 0; --axis) {
    const Index size = (Index)form.sizes[axis];
    const Index at = rest % size;
    rest /= size;
    source += (i64)at * form.from[axis];
    target += (i64)at * form.to[axis];
  }
  static_cast<T*>(to)[target] = static_cast<const T*>(from)[source];
}
