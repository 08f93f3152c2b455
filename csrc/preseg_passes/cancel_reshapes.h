/// Pass `cancel-reshapes`: what is reshaped to the sizes that it has, or had, is not reshaped.
///
///   T0[i2, i3]                                 T0[15, 31]
///   T1[15, 31] = reshape(T0)              →    T2[15, 31] = T0 * T0
///   T2[15, 31] = T1 * T0
///
///   T1[30] = reshape(T0[5, 6])
///   T2[5, 6] = reshape(T1)                →    T0
///
/// The axes of a reshape come from a merge of all that it has; beside the operand itself, in one
/// kernel, each element would be at two places. Sizes are compared once they are constants.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void cancelReshapes(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
