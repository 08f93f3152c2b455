// Elements as unsigned numbers of the same size that have their order.
//
//   Key::of(bits, descending)   the bits of an element → its key; keys of a descending order are
//                               turned around
//
// Key is UnsignedKey<U>, SignedKey<U>, BoolKey<U> or FloatKey<U, Infinity>, over the element's bits
// in a U. Infinity has the bits of infinity, or of the greatest number where there is none. NaN is
// the greatest number, and −0 is 0, so elements that compare equal have one key.
//
// needs: basics.cuh
template <class U>
struct UnsignedKey {
  using Bits = U;
  static __device__ __forceinline__ U of(U bits, bool descending) {
    return descending ? (U)~bits : bits;
  }
};

template <class U>
struct SignedKey {
  using Bits = U;
  static __device__ __forceinline__ U of(U bits, bool descending) {
    const U key = (U)(bits ^ (U)((U)1 << (sizeof(U) * 8 - 1)));
    return descending ? (U)~key : key;
  }
};

template <class U>
struct BoolKey {
  using Bits = U;
  static __device__ __forceinline__ U of(U bits, bool descending) {
    return (U)((bits != 0) != descending);
  }
};

template <class U, U Infinity>
struct FloatKey {
  using Bits = U;
  static __device__ __forceinline__ U of(U bits, bool descending) {
    const U sign = (U)((U)1 << (sizeof(U) * 8 - 1));
    const U size = (U)(bits & (U)~sign);
    U key = (U)(bits | sign);
    if (size > Infinity) {
      key = (U) ~(U)0;
    } else if (size != 0 && (bits & sign) != 0) {
      key = (U)~bits;
    } else if (size == 0) {
      key = sign;
    }
    return descending ? (U)~key : key;
  }
};
