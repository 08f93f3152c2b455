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
//   else: one slot of S a thread in smem, a tree with ceil(log2 R) + 1 barriers
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

template <bool X, bool Y, bool Z, class Part = WholeBlock, class S>
__device__ __forceinline__ S blockAllReduce(S s, void* smem) {
  const u32 bx = Part::template extent<0>(), by = Part::template extent<1>(),
            bz = Part::template extent<2>();
  const u32 r = (X ? bx : 1) * (Y ? by : 1) * (Z ? bz : 1);
  if (r == 1) {
    return s;
  }
  S* slots = static_cast<S*>(smem);
  const u32 thread = linearThread();
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
  const BlockSlot slot = blockSlot<X, Y, Z>(bx, by, bz);
  S* mine = slots + slot.index();
  *mine = s;
  u32 half = 1;
  while (half * 2 < slot.places) {
    half *= 2;
  }
  for (; half > 0; half /= 2) {
    Part::sync();
    if (slot.place < half && slot.place + half < slot.places) {
      s = S::combine(s, mine[half * slot.results]);
      *mine = s;
    }
  }
  Part::sync();
  return slots[slot.result];
}
