/// Pass `short-results`, for GPUs: an output whose parts along an innermost axis of two to four
/// elements are made of other parts along it, as sums of padded tensors are, is the join of its
/// parts.
///
///   T3[n, 4] = pad(T1[n, 2], 0, 2)          T7[n, 4] = cat(T1[n, 0], T1[n, 1],
///   T4[n, 4] = pad(T2[n, 2], 2, 0)     →                   T2[n, 0], T2[n, 1])
///   T5[n, 4] = T3 + T4                      (with 0 + where there is nothing)
///
/// A kernel has a tensor at the element that it computes and nowhere else, so what is moved along
/// the axis would be stored first. Of a join each thread that has the whole axis computes each part
/// once: gradients of boxes from those of corners, of points from those of their differences.
///
/// Left alone: outputs whose parts are made of tensors that others read whole (these are computed
/// in any case), or that only inputs are moved for; all, once the operations that are made are more
/// than the fusion had.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void takeShortResultsApart(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
