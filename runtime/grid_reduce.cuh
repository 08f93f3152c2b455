// Reductions among the blocks of a grid, over any subset of {x, y, z} of the grid, in block order:
// results repeat bit for bit.
//
// The blocks that differ only in reduced grid dimensions are a *segment*. Before the call, the
// threads of a block that differ only in the reduced thread dimensions TX, TY, TZ hold the same
// state (the result of blockAllReduce over them); the others hold states of different results.
//
//   bool gridReduce<BX, BY, BZ, TX, TY, TZ>(s, partials, tickets, smem)
//     The block of a segment that comes last combines all partials; returns true in its threads,
//     where s is then the result. No block waits, so any launch will do. `tickets`: one u32 a
//     segment, zero before and after.
//   S gridAllReduce<BX, BY, BZ, TX, TY, TZ>(s, partials, barrier, smem)
//     Cooperative launches only: all blocks get the result. `barrier`: one u32 a segment, as in
//     grid_sync.cuh. `partials` may be written again after another barrier of the segment.
//
// partials: states of S in global memory; segments × blocks of a segment × results of a block.
// smem: as for blockAllReduce<TX, TY, TZ>; a barrier must lie between its last use and the call.
// All threads of all blocks call.
//
// A block of known extents (block_part.cuh): a template argument behind the others.
//
// needs: basics.cuh block_part.cuh warp_reduce.cuh block_reduce.cuh grid_sync.cuh
struct GridSegment {
  u32 segment, segments;  // which, of how many
  u32 block, blocks;      // place in the segment
  u32 result, results;    // of this thread, in its block
  u32 place, places;      // of this thread among those with the same result
};

template <bool BX, bool BY, bool BZ, bool TX, bool TY, bool TZ>
__device__ __forceinline__ GridSegment gridSegment() {
  GridSegment g = {0, 1, 0, 1, 0, 1, 0, 1};
  if (BX) {
    g.block += blockIdx.x * g.blocks;
    g.blocks *= gridDim.x;
  } else {
    g.segment += blockIdx.x * g.segments;
    g.segments *= gridDim.x;
  }
  if (BY) {
    g.block += blockIdx.y * g.blocks;
    g.blocks *= gridDim.y;
  } else {
    g.segment += blockIdx.y * g.segments;
    g.segments *= gridDim.y;
  }
  if (BZ) {
    g.block += blockIdx.z * g.blocks;
    g.blocks *= gridDim.z;
  } else {
    g.segment += blockIdx.z * g.segments;
    g.segments *= gridDim.z;
  }
  if (TX) {
    g.place += threadIdx.x * g.places;
    g.places *= blockDim.x;
  } else {
    g.result += threadIdx.x * g.results;
    g.results *= blockDim.x;
  }
  if (TY) {
    g.place += threadIdx.y * g.places;
    g.places *= blockDim.y;
  } else {
    g.result += threadIdx.y * g.results;
    g.results *= blockDim.y;
  }
  if (TZ) {
    g.place += threadIdx.z * g.places;
    g.places *= blockDim.z;
  } else {
    g.result += threadIdx.z * g.results;
    g.results *= blockDim.z;
  }
  return g;
}

// Combines a segment's partials: each thread a run of neighbouring blocks, then the threads of a
// result together.
template <bool TX, bool TY, bool TZ, class Part, class S>
__device__ __forceinline__ S combinePartials(const GridSegment& g, const S* partials, void* smem) {
  const S* own = partials + (u64)g.segment * g.blocks * g.results + g.result;
  u32 run = ceilDiv(g.blocks, g.places);
  u32 begin = g.place * run;
  u32 end = begin + run < g.blocks ? begin + run : g.blocks;
  S s = S::identity();
  for (u32 b = begin; b < end; ++b) {
    s = S::combine(s, own[(u64)b * g.results]);
  }
  return blockAllReduce<TX, TY, TZ, Part>(s, smem);
}

template <bool BX, bool BY, bool BZ, bool TX, bool TY, bool TZ, class Part = WholeBlock, class S>
__device__ __forceinline__ bool gridReduce(S& s, S* partials, u32* tickets, void* smem) {
  const GridSegment g = gridSegment<BX, BY, BZ, TX, TY, TZ>();
  if (g.blocks == 1) {
    return true;
  }
  if (g.place == 0) {
    partials[((u64)g.segment * g.blocks + g.block) * g.results + g.result] = s;
  }
  __threadfence();
  __syncthreads();
  bool last = false;
  if (linearThread() == 0) {
    // Wraps to zero at the last block: ready for the next launch.
    last = atomicInc(&tickets[g.segment], g.blocks - 1) == g.blocks - 1;
    __threadfence();
  }
  if (!__syncthreads_or(last)) {
    return false;
  }
  s = combinePartials<TX, TY, TZ, Part>(g, partials, smem);
  return true;
}

template <bool BX, bool BY, bool BZ, bool TX, bool TY, bool TZ, class Part = WholeBlock, class S>
__device__ __forceinline__ S gridAllReduce(S s, S* partials, u32* barrier, void* smem) {
  const GridSegment g = gridSegment<BX, BY, BZ, TX, TY, TZ>();
  if (g.blocks == 1) {
    return s;
  }
  if (g.place == 0) {
    partials[((u64)g.segment * g.blocks + g.block) * g.results + g.result] = s;
  }
  gridSync(&barrier[g.segment], g.blocks, g.block == 0);
  return combinePartials<TX, TY, TZ, Part>(g, partials, smem);
}
