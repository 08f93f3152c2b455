// The first `count` of each tile of a row in order, found without sorting the tile: the digits of
// the last of them one after the other, from the highest on. Equal elements in their order.
//
//   firstOfTiles<Key>(in, in_positions, length, tiles, count, padded, descending, values,
//   positions,
//                     smem)
//
// A block for each of a row's `tiles`, which are as long as each other, kSortTile at most, and have
// `count` elements at least. Rows of `length` elements go to rows of `tiles` times `count`, with
// positions as in sort_rows.cuh. `smem` has `padded` entries, a power of two from `count` on.
//
// needs: basics.cuh order_key.cuh sort_rows.cuh sort_digits.cuh
template <class U>
struct Limit {
  U key;
  u32 ties;  // how many of those that have this key are taken
  bool all;  // all of them
};

template <class U>
__device__ __forceinline__ Limit<U> limitOf(const U (&keys)[kSortItems], u32 here, u32 count) {
  __shared__ u32 found[kDigits], sums[kSortWarps], chosen[3];
  const u32 thread = threadIdx.x, first = thread / 32 * (kSortItems * 32) + thread % 32;
  U prefix = 0;
  u32 wanted = count;
  for (int shift = sizeof(U) * 8 - 8; shift >= 0; shift -= 8) {
    found[thread] = 0;
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < kSortItems; ++i) {
      const U above = (U)((keys[i] ^ prefix) >> shift);
      if (first + i * 32 < here && above < kDigits) {
        atomicAdd(&found[(u32)(keys[i] >> shift) & (kDigits - 1)], 1u);
      }
    }
    __syncthreads();
    const u32 own = found[thread];
    u32 total;
    const u32 before = sumBefore(own, total, sums);
    if (before < wanted && wanted <= before + own) {
      chosen[0] = thread;
      chosen[1] = before;
      chosen[2] = own;
    }
    __syncthreads();
    prefix = (U)(prefix | (U)((U)chosen[0] << shift));
    wanted -= chosen[1];
    const bool all = wanted == chosen[2];
    if (all || shift == 0) {
      return {(U)(prefix | (U)(((U)1 << shift) - 1)), wanted, all};
    }
  }
  return {};
}

template <class Key>
__device__ __forceinline__ void firstOfTiles(const typename Key::Bits* in, const i64* in_positions,
                                             i64 length, u32 tiles, u32 count, u32 padded,
                                             bool descending, typename Key::Bits* values,
                                             i64* positions, void* smem) {
  using U = typename Key::Bits;
  __shared__ u32 taken, ties_of_warp[kSortWarps];
  SortEntry<U>* entries = (SortEntry<U>*)smem;
  const i64 row = blockIdx.x / tiles;
  const u32 tile = blockIdx.x % tiles;
  const i64 begin = length * tile / tiles;
  const u32 here = (u32)(length * (tile + 1) / tiles - begin);
  const U* from = in + row * length + begin;
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u32 first = warp * (kSortItems * 32) + lane;
  if (threadIdx.x == 0) {
    taken = 0;
  }
  for (u32 i = count + threadIdx.x; i < padded; i += kSortThreads) {
    entries[i] = SortEntry<U>::last(kSortTile + i);
  }
  U keys[kSortItems];
#pragma unroll
  for (u32 i = 0; i < kSortItems; ++i) {
    const u32 at = first + i * 32;
    keys[i] = at < here ? Key::of(from[at], descending) : (U)0;
  }
  const Limit<U> limit = limitOf<U>(keys, here, count);

  u32 ties = 0;
#pragma unroll
  for (u32 i = 0; i < kSortItems; ++i) {
    const bool ties_here = first + i * 32 < here && keys[i] == limit.key && !limit.all;
    ties += __popc(__ballot_sync(0xffffffffu, ties_here));
  }
  if (lane == 0) {
    ties_of_warp[warp] = ties;
  }
  __syncthreads();
  u32 ties_before = 0;
  for (u32 w = 0; w < warp; ++w) {
    ties_before += ties_of_warp[w];
  }
#pragma unroll
  for (u32 i = 0; i < kSortItems; ++i) {
    const u32 at = first + i * 32;
    const bool is_tie = at < here && keys[i] == limit.key && !limit.all;
    const u32 lanes = __ballot_sync(0xffffffffu, is_tie);
    const u32 rank = ties_before + __popc(lanes & ((1u << lane) - 1u));
    ties_before += __popc(lanes);
    if (is_tie && rank < limit.ties) {
      entries[count - limit.ties + rank] = SortEntry<U>::make(keys[i], at);
    } else if (!is_tie && at < here && keys[i] <= limit.key) {
      entries[atomicAdd(&taken, 1u)] = SortEntry<U>::make(keys[i], at);
    }
  }
  __syncthreads();
  sortEntries<U>(entries, padded, threadIdx.x, kSortThreads);
  const i64 to = (i64)blockIdx.x * count;
  for (u32 i = threadIdx.x; i < count; i += kSortThreads) {
    const u32 place = entries[i].place();
    values[to + i] = from[place];
    positions[to + i] =
        in_positions == nullptr ? begin + place : in_positions[row * length + begin + place];
  }
}
