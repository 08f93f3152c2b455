/// Pass `hoist-selections`: one place of a computed tensor is computed from its operands at that
/// place.
///
///   T1[n, m] = T0[n, m] * T0[n, m]            T1[n, m] = T0[n, m] * T0[n, m]
///   T2[n]    = select(T1, 5, dim = 1)    →    T3[n]    = select(T0, 5, dim = 1)
///   T4[n, m] = T1 - broadcast(T2)             T4[n, m] = T1 - broadcast(T3 * T3)
///
/// A kernel has a tensor at the element that it computes and nowhere else, so a place that others
/// read would be stored first. Inputs are read anywhere, and a place of a join is one of its
/// operands: coordinates of points, the end of a row that is rolled, steps that were stacked.
///
/// Left alone: places that only a call knows (hoist_reads.h); tensors that are computed by more
/// than operations element by element; those that others read whole, where all places together cost
/// many operations for each of their elements; all, once the operations that are made are more than
/// the fusion had.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void hoistSelections(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
