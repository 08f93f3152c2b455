// The first of each row in order, by one block or a part of it; equal elements in their order.
//
//   sortRows<Key>(in, in_positions, rows, length, padded, count, descending, values, positions,
//                 smem)
//   sortEntries<U>(entries, padded, thread, threads)
//
// Rows of `length` elements, one after the other, go to rows of `count`: their elements and their
// positions; either may be null. An element's position is its number in the row, or what
// `in_positions` says, if it is not null. Threads along x share a row, half as many as `padded`, a
// power of two from `length` on (64 at least); rows of a block stand along y. `smem` has `padded`
// entries for each of them. A bitonic network, whose steps within 64 entries stay in a warp.
//
// needs: basics.cuh order_key.cuh

// A key and where it is; places are all different, so no two entries are equal.
template <class U>
struct SortEntry {
  u64 word;
  static __device__ __forceinline__ SortEntry make(U key, u32 place) {
    return {((u64)key << 32) | place};
  }
  static __device__ __forceinline__ SortEntry last(u32 place) { return make((U) ~(U)0, place); }
  __device__ __forceinline__ u32 place() const { return (u32)word; }
  __device__ __forceinline__ bool comesBefore(const SortEntry& other) const {
    return word < other.word;
  }
};
template <>
struct SortEntry<u64> {
  u64 key;
  u64 at;
  static __device__ __forceinline__ SortEntry make(u64 key, u32 place) { return {key, place}; }
  static __device__ __forceinline__ SortEntry last(u32 place) { return make(~(u64)0, place); }
  __device__ __forceinline__ u32 place() const { return (u32)at; }
  __device__ __forceinline__ bool comesBefore(const SortEntry& other) const {
    return key < other.key || (key == other.key && at < other.at);
  }
};

// All threads of the block call; `thread` is one of `threads` that share the entries, whole warps.
// A barrier is due before, none after.
template <class U>
__device__ __forceinline__ void sortEntries(SortEntry<U>* entries, u32 padded, u32 thread,
                                            u32 threads) {
  for (u32 size = 2; size <= padded; size *= 2) {
    for (u32 distance = size / 2; distance > 0; distance /= 2) {
      for (u32 pair = thread; pair < padded / 2; pair += threads) {
        const u32 low = 2 * pair - (pair & (distance - 1));
        const SortEntry<U> a = entries[low], b = entries[low + distance];
        if (b.comesBefore(a) == ((low & size) == 0)) {
          entries[low] = b;
          entries[low + distance] = a;
        }
      }
      const bool next_in_warp = distance > 1 ? distance <= 64 : size <= 32;
      if (next_in_warp && distance <= 32) {
        __syncwarp();
      } else {
        __syncthreads();
      }
    }
  }
  __syncthreads();
}

template <class Key>
__device__ __forceinline__ void sortRows(const typename Key::Bits* in, const i64* in_positions,
                                         i64 rows, u32 length, u32 padded, u32 count,
                                         bool descending, typename Key::Bits* values,
                                         i64* positions, void* smem) {
  using U = typename Key::Bits;
  const u32 threads = padded / 2;
  SortEntry<U>* entries = (SortEntry<U>*)smem + threadIdx.y * padded;
  const i64 row = (i64)blockIdx.x * blockDim.y + threadIdx.y;
  const U* from = in + row * length;
  for (u32 i = threadIdx.x; i < padded; i += threads) {
    entries[i] = row < rows && i < length ? SortEntry<U>::make(Key::of(from[i], descending), i)
                                          : SortEntry<U>::last(i);
  }
  __syncthreads();
  sortEntries<U>(entries, padded, threadIdx.x, threads);
  if (row >= rows) {
    return;
  }
  for (u32 i = threadIdx.x; i < count; i += threads) {
    const u32 place = entries[i].place();
    if (values != nullptr) {
      values[row * count + i] = from[place];
    }
    if (positions != nullptr) {
      positions[row * count + i] =
          in_positions == nullptr ? place : in_positions[row * length + place];
    }
  }
}
