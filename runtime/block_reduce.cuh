// Reductions among the threads of a block, over any subset of {x, y, z}, in a fixed order. All
// threads get the result.
//
//   blockAllReduce<X, Y, Z>(s, smem)
//
// X, Y, Z say which thread dimensions are reduced; threads that differ only in those share a
// result. All threads of the block must call. S as in warp_reduce.cuh. How, with R the number of
// threads that share a result:
//   R is a power of two up to 32, and they are neighbours (linear thread index, x fastest):
//     shuffles; no smem, no barrier
//   R is a multiple of 32 and they are neighbours: shuffles, one slot of S a warp in smem, one
//     barrier
//   they are whole rows of x, and a warp has several of these (x up to 16, not reduced; y reduced):
//     shuffles among the rows of a warp, then the same for what warps have, then the few that are
//     left; two barriers
//   else: one slot of S a thread in smem, a tree with ceil(log2 R) + 1 barriers
// Words of states lie in rows of their own, one word of each slot: a state of 32 bytes at each slot
// would have eight lanes meet at a bank.
// Threads of a part of the block: a template argument behind the others (block_part.cuh).
// `smem` is shared memory aligned for S, `blockReduceSlots<X, Y, Z>(bx, by, bz) * sizeof(S)` bytes.
// It may be used again after the next barrier; two areas used in turn need none.
//
// needs: basics.cuh block_part.cuh warp_reduce.cuh

// Whether threads that share a result are neighbours.
template <bool X, bool Y, bool Z>
__host__ __device__ constexpr bool blockReduceNeighbours(u32 bx, u32 by, u32 bz) {
  // From x outwards: reduced dimensions, then kept ones; extents of 1 are both.
  bool kept = false;
  bool neighbours = true;
  if (bx > 1) {
    if (X) {
      neighbours = neighbours && !kept;
    } else {
      kept = true;
    }
  }
  if (by > 1) {
    if (Y) {
      neighbours = neighbours && !kept;
    } else {
      kept = true;
    }
  }
  if (bz > 1) {
    if (Z) {
      neighbours = neighbours && !kept;
    } else {
      kept = true;
    }
  }
  return neighbours;
}

// Where a thread's state is, one a thread: neighbours in a warp touch neighbours in smem.
struct BlockSlot {
  u32 place, places;    // among the threads that share a result
  u32 result, results;  // among the results
  __device__ __forceinline__ u32 index() const { return place * results + result; }
};

template <bool X, bool Y, bool Z>
__device__ __forceinline__ BlockSlot blockSlot(u32 bx, u32 by, u32 bz) {
  BlockSlot s{0, 1, 0, 1};
  const u32 threads[3] = {threadIdx.x, threadIdx.y, threadIdx.z};
  const u32 extents[3] = {bx, by, bz};
  const bool shared[3] = {X, Y, Z};
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    if (shared[d]) {
      s.place += threads[d] * s.places;
      s.places *= extents[d];
    } else {
      s.result += threads[d] * s.results;
      s.results *= extents[d];
    }
  }
  return s;
}

template <bool X, bool Y, bool Z>
__host__ __device__ constexpr u32 blockReduceSlots(u32 bx, u32 by, u32 bz) {
  u32 r = (X ? bx : 1) * (Y ? by : 1) * (Z ? bz : 1);
  if (blockReduceNeighbours<X, Y, Z>(bx, by, bz)) {
    if (r <= 32 && (r & (r - 1)) == 0) {
      return 0;
    }
    if (r % 32 == 0) {
      return bx * by * bz / 32;
    }
  }
  return bx * by * bz;
}

// A state in shared memory, as slot `at` of `slots`.
template <class S>
__device__ __forceinline__ void putSlot(void* smem, u32 slots, u32 at, const S& s) {
  if constexpr (sizeof(S) % 4 == 0) {
    const ShuffleWords<S> words = toShuffleWords(s);
    u32* rows = static_cast<u32*>(smem);
#pragma unroll
    for (u32 i = 0; i < sizeof(S) / 4; ++i) {
      rows[i * slots + at] = words.w[i];
    }
  } else {
    static_cast<S*>(smem)[at] = s;
  }
}
template <class S>
__device__ __forceinline__ S slotAt(const void* smem, u32 slots, u32 at) {
  if constexpr (sizeof(S) % 4 == 0) {
    ShuffleWords<S> words;
    const u32* rows = static_cast<const u32*>(smem);
#pragma unroll
    for (u32 i = 0; i < sizeof(S) / 4; ++i) {
      words.w[i] = rows[i * slots + at];
    }
    return fromShuffleWords<S>(words);
  } else {
    return static_cast<const S*>(smem)[at];
  }
}

// Among the lanes of a warp whose distance is a multiple of `row`, a power of two.
template <class S>
__device__ __forceinline__ S rowsOfWarpAllReduce(S s, u32 row, u32 lane) {
#pragma unroll
  for (u32 distance = row; distance < 32; distance *= 2) {
    S other = shuffleXor(s, (int)distance);
    s = (lane & distance) ? S::combine(other, s) : S::combine(s, other);
  }
  return s;
}

// Threads of a column of a block of rows: `row` threads, a power of two below 32, in whole warps.
// Each round leaves one state a column of what a warp has; the last few are read by all.
template <class Part, class S>
__device__ __forceinline__ S rowsAllReduce(S s, u32 row, u32 threads, void* smem) {
  const u32 thread = Part::rank(), lane = thread % 32;
  u8* area = static_cast<u8*>(smem);
  u32 states = threads;  // of all columns
  do {
    if (thread < states) {  // whole warps
      s = rowsOfWarpAllReduce(s, row, lane);
    }
    const u32 left = states / 32 * row;
    if (thread < states && lane < row) {
      putSlot(area, left, thread / 32 * row + lane, s);
    }
    Part::sync();
    states = left;
    if (states % 32 != 0 || states <= 4 * row) {
      break;
    }
    if (thread < states) {
      s = slotAt<S>(area, states, thread);
    }
    area += states * sizeof(S);
  } while (true);
  s = slotAt<S>(area, states, thread % row);
  for (u32 at = thread % row + row; at < states; at += row) {
    s = S::combine(s, slotAt<S>(area, states, at));
  }
  return s;
}

template <bool X, bool Y, bool Z, class Part = WholeBlock, class S>
__device__ __forceinline__ S blockAllReduce(S s, void* smem) {
  const u32 bx = Part::template extent<0>(), by = Part::template extent<1>(),
            bz = Part::template extent<2>();
  const u32 r = (X ? bx : 1) * (Y ? by : 1) * (Z ? bz : 1);
  if (r == 1) {
    return s;
  }
  S* slots = static_cast<S*>(smem);
  const u32 thread = Part::rank();
  if (blockReduceNeighbours<X, Y, Z>(bx, by, bz)) {
    if (r == 32) {
      return warpAllReduce<32>(s);
    }
    if (r <= 32 && (r & (r - 1)) == 0) {
      u32 lanes = bx * by * bz - thread / 32 * 32;  // of this warp
      return warpAllReduce(s, (int)r, lanes >= 32 ? 0xffffffffu : (1u << lanes) - 1u);
    }
    if (r % 32 == 0) {
      s = warpAllReduce<32>(s);
      const u32 warp = thread / 32;
      if (thread % 32 == 0) {
        slots[warp] = s;
      }
      Part::sync();
      const u32 warps = r / 32;  // that share a result
      const u32 first = warp / warps * warps;
      if ((warps & (warps - 1)) == 0) {
        return warpAllReduce(S(slots[first + (thread % 32 & (warps - 1))]), (int)warps,
                             0xffffffffu);
      }
      s = slots[first];
      for (u32 w = 1; w < warps; ++w) {
        s = S::combine(s, slots[first + w]);
      }
      return s;
    }
  }
  if (!X && Y && bz == 1 && bx < 32 && (bx & (bx - 1)) == 0 && bx * by % 32 == 0) {
    return rowsAllReduce<Part>(s, bx, bx * by, smem);
  }
  const BlockSlot slot = blockSlot<X, Y, Z>(bx, by, bz);
  const u32 all = slot.places * slot.results;
  putSlot(smem, all, slot.index(), s);
  u32 half = 1;
  while (half * 2 < slot.places) {
    half *= 2;
  }
  for (; half > 0; half /= 2) {
    Part::sync();
    if (slot.place < half && slot.place + half < slot.places) {
      s = S::combine(s, slotAt<S>(smem, all, slot.index() + half * slot.results));
      putSlot(smem, all, slot.index(), s);
    }
  }
  Part::sync();
  return slotAt<S>(smem, all, slot.result);
}
