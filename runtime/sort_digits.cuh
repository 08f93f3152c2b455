// Rows of any length in order, by eight bits of their keys a pass, from the lowest on; equal
// elements in their order. A row is cut into tiles, each a block's; three kernels are a pass:
//
//   digitCounts<Key, Source>   how many elements of each tile have each digit
//   digitStarts                of each row and digit: the sum over the tiles before
//   digitPlaces<Key, Source>   each element to its place
//
// The first pass reads elements (Source::Elements), the others keys and positions. `counts` has
// rows x 256 x tiles numbers, `totals` rows x 256. Blocks have kSortThreads threads.
//
// needs: basics.cuh order_key.cuh
constexpr u32 kDigits = 256;
constexpr u32 kSortThreads = 256;
constexpr u32 kSortItems = 16;  // of a thread
constexpr u32 kSortTile = kSortThreads * kSortItems;
constexpr u32 kSortWarps = kSortThreads / 32;

enum class Source { Elements, Keys };

template <class Key, Source source>
__device__ __forceinline__ typename Key::Bits keyAt(const typename Key::Bits* in, i64 at,
                                                    bool descending) {
  if constexpr (source == Source::Elements) {
    return Key::of(in[at], descending);
  } else {
    return in[at];
  }
}

template <class Key, Source source>
__device__ __forceinline__ void digitCounts(const typename Key::Bits* in, i64 length, u32 tiles,
                                            u32 shift, bool descending, u32* counts) {
  __shared__ u32 found[kSortWarps][kDigits];
  const i64 row = blockIdx.x / tiles;
  const u32 tile = blockIdx.x % tiles;
  const u32 warp = threadIdx.x / 32;
  for (u32 w = 0; w < kSortWarps; ++w) {
    found[w][threadIdx.x] = 0;
  }
  __syncthreads();
  const i64 begin = (i64)tile * kSortTile;
  for (u32 i = 0; i < kSortItems; ++i) {
    const i64 at = begin + i * kSortThreads + threadIdx.x;
    if (at < length) {
      const auto key = keyAt<Key, source>(in, row * length + at, descending);
      atomicAdd(&found[warp][(u32)(key >> shift) & (kDigits - 1)], 1u);
    }
  }
  __syncthreads();
  u32 sum = 0;
  for (u32 w = 0; w < kSortWarps; ++w) {
    sum += found[w][threadIdx.x];
  }
  counts[(row * kDigits + threadIdx.x) * tiles + tile] = sum;
}

// The sum over the threads before; `total` takes in all. `sums` has a number for each warp, and may
// be used again after the next barrier.
__device__ __forceinline__ u32 sumBefore(u32 own, u32& total, u32* sums) {
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 upto = own;
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const u32 other = __shfl_up_sync(0xffffffffu, upto, distance);
    upto += lane >= distance ? other : 0;
  }
  if (lane == 31) {
    sums[warp] = upto;
  }
  __syncthreads();
  u32 before = 0;
  total = 0;
  for (u32 w = 0; w < kSortWarps; ++w) {
    before += w < warp ? sums[w] : 0;
    total += sums[w];
  }
  return before + upto - own;
}

// A block for each row and digit.
__device__ __forceinline__ void digitStarts(u32* counts, u32 tiles, u32* totals) {
  __shared__ u32 sums[kSortWarps];
  u32* of_digit = counts + (i64)blockIdx.x * tiles;
  u32 before = 0;
  for (u32 begin = 0; begin < tiles; begin += kSortThreads) {
    const u32 tile = begin + threadIdx.x;
    u32 total;
    const u32 start = sumBefore(tile < tiles ? of_digit[tile] : 0, total, sums);
    if (tile < tiles) {
      of_digit[tile] = before + start;
    }
    before += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    totals[blockIdx.x] = before;
  }
}

// The lanes of the warp whose digit is this one's.
__device__ __forceinline__ u32 lanesOfDigit(u32 digit) {
#ifdef NVFUSER_EMULATED
  return __match_any_sync(0xffffffffu, digit);
#else
  u32 lanes = 0xffffffffu;
#pragma unroll
  for (u32 bit = 0; bit < 9; ++bit) {
    const bool set = (digit >> bit) & 1;
    const u32 with = __ballot_sync(0xffffffffu, set);
    lanes &= set ? with : ~with;
  }
  return lanes;
#endif
}

// `out_positions` has a number for each element; of the last pass it may be `Position` = i64, and
// `out_keys` null.
template <class Key, Source source, class Position>
__device__ __forceinline__ void digitPlaces(const typename Key::Bits* in, const u32* in_positions,
                                            i64 length, u32 tiles, u32 shift, bool descending,
                                            const u32* starts, const u32* totals,
                                            typename Key::Bits* out_keys, Position* out_positions) {
  using U = typename Key::Bits;
  __shared__ u32 of_warp[kSortWarps][kDigits + 1];  // the last digit is that of no element
  __shared__ u64 exchange[kSortTile * (sizeof(U) < 4 ? 4 : sizeof(U)) / 8];
  __shared__ u32 first[kDigits], base[kDigits], sums[kSortWarps], more_sums[kSortWarps];
  const i64 row = blockIdx.x / tiles;
  const u32 tile = blockIdx.x % tiles;
  const u32 thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const i64 begin = (i64)tile * kSortTile;
  const u32 here = (u32)(length - begin < kSortTile ? length - begin : (i64)kSortTile);
  for (u32 i = lane; i <= kDigits; i += 32) {
    of_warp[warp][i] = 0;
  }
  __syncwarp();

  // Where each element is among those of its digit in the warp.
  U keys[kSortItems];
  u32 ranks[kSortItems];
#pragma unroll
  for (u32 i = 0; i < kSortItems; ++i) {
    const u32 at = warp * (kSortItems * 32) + i * 32 + lane;
    keys[i] = at < here ? keyAt<Key, source>(in, row * length + begin + at, descending) : (U)0;
    const u32 digit = at < here ? (u32)(keys[i] >> shift) & (kDigits - 1) : kDigits;
    const u32 lanes = lanesOfDigit(digit);
    const u32 before = __popc(lanes & ((1u << lane) - 1u));
    const u32 earlier = of_warp[warp][digit];
    ranks[i] = earlier + before;
    __syncwarp();
    if (before == 0) {
      of_warp[warp][digit] = earlier + __popc(lanes);
    }
    __syncwarp();
  }
  __syncthreads();

  // Where each digit begins in the tile, and those of each warp among them; where it goes.
  u32 of_digit = 0;
  for (u32 w = 0; w < kSortWarps; ++w) {
    const u32 count = of_warp[w][thread];
    of_warp[w][thread] = of_digit;
    of_digit += count;
  }
  u32 total;
  const u32 start = sumBefore(of_digit, total, sums);
  first[thread] = start;
  base[thread] = sumBefore(totals[row * kDigits + thread], total, more_sums) +
                 starts[(row * kDigits + thread) * tiles + tile] - start;
  __syncthreads();

  // In order in shared memory, so that neighbours are written together.
  U* shared_keys = (U*)exchange;
#pragma unroll
  for (u32 i = 0; i < kSortItems; ++i) {
    const u32 at = warp * (kSortItems * 32) + i * 32 + lane;
    if (at < here) {
      const u32 digit = (u32)(keys[i] >> shift) & (kDigits - 1);
      ranks[i] += first[digit] + of_warp[warp][digit];
      shared_keys[ranks[i]] = keys[i];
    }
  }
  __syncthreads();
  u32 targets[kSortItems];
#pragma unroll
  for (u32 i = 0; i < kSortItems; ++i) {
    const u32 at = i * kSortThreads + thread;
    if (at < here) {
      const U key = shared_keys[at];
      targets[i] = base[(u32)(key >> shift) & (kDigits - 1)] + at;
      if (out_keys != nullptr) {
        out_keys[row * length + targets[i]] = key;
      }
    }
  }
  __syncthreads();
  u32* shared_places = (u32*)exchange;
#pragma unroll
  for (u32 i = 0; i < kSortItems; ++i) {
    const u32 at = warp * (kSortItems * 32) + i * 32 + lane;
    if (at < here) {
      shared_places[ranks[i]] =
          source == Source::Elements ? (u32)(begin + at) : in_positions[row * length + begin + at];
    }
  }
  __syncthreads();
#pragma unroll
  for (u32 i = 0; i < kSortItems; ++i) {
    const u32 at = i * kSortThreads + thread;
    if (at < here) {
      out_positions[row * length + targets[i]] = (Position)shared_places[at];
    }
  }
}
