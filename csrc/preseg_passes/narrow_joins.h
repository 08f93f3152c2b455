/// Pass `narrow-joins`: a join of many tensors is a join of joins.
///
///   T40 = cat(T0, …, T39)
/// becomes
///   T41 = cat(T0, …, T15)    T42 = cat(T16, …, T31)    T43 = cat(T32, …, T39)
///   T40 = cat(T41, T42, T43)
///
/// A kernel finds the part that holds an element among all of them, at each element: of n parts
/// that takes n comparisons, and a compiler the time of n guarded reads. The segmenter gives each
/// of these joins a kernel of its own (`kWideJoin`). They move the elements
/// twice, but look at a few parts each.
///
/// Left alone: up to `kWidestJoin` tensors; joins whose parts overlap or leave gaps.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

inline constexpr size_t kWidestJoin = 16;

void narrowJoins(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
