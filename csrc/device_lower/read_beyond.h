/// Tensors of one element that threads or blocks read which their own loop leaves out.
///
///   T1[b0], T2[i0]  share a loop of blockIdx.x, of which there are more than |i0|:
///   loop blockIdx.x  if (blockIdx.x < |i0|) { T1 = …;  T2 = … }     →   T1 = …
///   T3[] = T1                                                           if (…) T2 = …
///
/// What: an axis made of broadcasts is the same element in each thread of its loop. Where a
/// consumer outside of that loop reads the tensor, threads do so that have no element of the
/// loop's other tensors. They have to compute it all the same, and what it is computed from.
///
/// What it does not do: tensors in global memory, and in shared memory along threads, are written
/// by index 0 alone, which each loop has (`KernelBuilder::requireIterations`).
#pragma once

#include <map>
#include <set>

#include <iteration_space/loop_model.h>

namespace nvfuser {

/// The dimensions along which each such tensor has to be computed by all.
using ReadBeyond = std::map<const TensorView*, std::set<ParallelType>>;

ReadBeyond readBeyond(const Fusion& fusion, const LoopModel& loops);

/// Whether each thread (block) of the dimension has the tensor for itself.
bool eachHasOwn(const TensorView* tv, ParallelType type);

/// Whether an operation reads memory in which, of the dimension's threads or blocks, each has its
/// own part. No other one may look at it without a barrier: where the axis has one element, the
/// others do not compute what is read there. (What is not spread is written by index 0 alone, and
/// all wait for that.)
bool looksAtOthers(const Expr* expr, ParallelType type, const LoopModel& loops);

}  // namespace nvfuser
