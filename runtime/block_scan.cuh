// Scans among the threads of a block, over any subset of {x, y, z}, in thread order (x fastest;
// from the last thread on, where Backward).
//
//   blockScan<X, Y, Z, Backward>(state, total, smem)
//
// Threads that differ only in the dimensions marked share a scan. `state` is what a thread's own
// elements combine to, and becomes what stands in front of them: `total`, and the states of the
// threads before it. `total`, the same in all of them, takes in all states. All threads of the
// block must call. S as in warp_reduce.cuh. How, with R the number of threads that share a scan:
//   R is a power of two up to 32, and they are neighbours: shuffles; no smem, no barrier
//   R is a multiple of 32 and they are neighbours: shuffles, one slot of S a warp, one barrier
//   else: one slot of S a thread, one barrier, and each thread goes through those of its scan
// Threads of a part of the block: a template argument behind the others (block_part.cuh).
// `smem` is shared memory aligned for S, one S a thread at most. It may be used again after the
// next barrier.
//
// needs: basics.cuh block_part.cuh warp_reduce.cuh block_reduce.cuh

// What the lanes before this one have, each with its own, in groups of `width` neighbours.
template <bool Backward, class S>
__device__ __forceinline__ S warpScan(S s, int width, u32 mask) {
  const int lane = (int)laneIndex();
  const int place = lane & (width - 1);
  for (int distance = 1; distance < width; distance *= 2) {
    const bool any = Backward ? place + distance < width : place >= distance;
    S other = shuffleIndex(s, !any ? lane : Backward ? lane + distance : lane - distance, mask);
    if (any) {
      s = S::combine(other, s);
    }
  }
  return s;
}

template <bool X, bool Y, bool Z, bool Backward, class Part = WholeBlock, class S>
__device__ __forceinline__ void blockScan(S& state, S& total, void* smem) {
  const u32 bx = Part::template extent<0>(), by = Part::template extent<1>(),
            bz = Part::template extent<2>();
  const u32 r = (X ? bx : 1) * (Y ? by : 1) * (Z ? bz : 1);
  S* slots = static_cast<S*>(smem);
  const u32 thread = linearThread();
  const bool neighbours = blockReduceNeighbours<X, Y, Z>(bx, by, bz);
  const bool in_warp = neighbours && r <= 32 && (r & (r - 1)) == 0;
  if (in_warp || (neighbours && r % 32 == 0)) {
    const u32 width = r < 32 ? r : 32;
    const u32 lanes = bx * by * bz - thread / 32 * 32;  // of this warp
    const u32 mask = lanes >= 32 ? 0xffffffffu : (1u << lanes) - 1u;
    const u32 lane = thread % 32;
    const S upto = warpScan<Backward>(state, (int)width, mask);
    const u32 group = lane / width * width;
    const u32 first = Backward ? group + width - 1 : group;
    const u32 last = Backward ? group : group + width - 1;
    const bool is_first = lane == first;
    const S front = shuffleIndex(upto,
                                 (int)(is_first   ? lane
                                       : Backward ? lane + 1
                                                  : lane - 1),
                                 mask);
    if (in_warp) {
      const S all = shuffleIndex(upto, (int)last, mask);
      state = is_first ? total : S::combine(total, front);
      total = S::combine(total, all);
      return;
    }
    const u32 warp = thread / 32;
    if (lane == last) {
      slots[warp] = upto;
    }
    Part::sync();
    const u32 warps = r / 32;  // that share a scan
    const u32 begin = warp / warps * warps;
    S before = total;
    for (u32 w = 0; w < warps; ++w) {
      const u32 next = begin + (Backward ? warps - 1 - w : w);
      if (next == warp) {
        before = total;
      }
      total = S::combine(total, slots[next]);
    }
    state = is_first ? before : S::combine(before, front);
    return;
  }
  const BlockSlot slot = blockSlot<X, Y, Z>(bx, by, bz);
  slots[slot.index()] = state;
  Part::sync();
  for (u32 p = 0; p < slot.places; ++p) {
    const u32 next = Backward ? slot.places - 1 - p : p;
    if (next == slot.place) {
      state = total;
    }
    total = S::combine(total, slots[next * slot.results + slot.result]);
  }
}
