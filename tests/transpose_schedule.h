/// A transpose through a tile in shared memory: the schedule that tests of barriers, bank conflicts
/// and dumps look at.
#pragma once

#include <ir/builder.h>
#include <ir/fusion.h>
#include <ops/all_ops.h>
#include <scheduler/utils.h>

namespace nvfuser {

/// T0[i0, i1] → T1 (shared memory) → T2[i1, i0] in tiles of 32 × 32, one thread an element. Without
/// a swizzle, the threads of a warp read one column of the tile, which lies in one bank.
inline void transposeThroughTile(Fusion& fusion, bool swizzled, DataType dtype = DataType::Float) {
  FusionGuard guard(&fusion);
  TensorView* in = makeContigTensor(2, dtype);
  fusion.addInput(in);
  TensorView* tile = set(in);
  TensorView* out = transpose(tile, 0, 1);
  fusion.addOutput(out);
  out->split(0, 32)->split(2, 32)->reorder({{1, 2}, {2, 1}});
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  tile->reorder({{2, 3}, {3, 2}});
  tile->setMemoryType(MemoryType::Shared);
  if (swizzled) {
    tile->swizzle(SwizzleType::XOR, 2, 3);
  }
  for (TensorView* tv : {tile, out}) {
    tv->axis(0)->parallelize(ParallelType::BIDx);
    tv->axis(1)->parallelize(ParallelType::BIDy);
    tv->axis(2)->parallelize(ParallelType::TIDy);
    tv->axis(3)->parallelize(ParallelType::TIDx);
  }
  tile->inlineAt(2);
}

}  // namespace nvfuser
