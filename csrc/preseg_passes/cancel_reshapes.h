/// Pass `cancel-reshapes`: what is reshaped to the sizes that it has, or had, is not reshaped.
///
///   T0[i2, i3]                                 T0[15, 31]
///   T1[15, 31] = reshape(T0)              →    T2[15, 31] = T0 * T0
///   T2[15, 31] = T1 * T0
///
///   T1[30] = reshape(T0[5, 6])
///   T2[5, 6] = reshape(T1)                →    T0
///
///   T1[8, 32, 4, 64] = reshape(T0[8, 128, 64])
///   T2 = T1 * T9[8, 32, 1, 1]             →    T4[8, 128, 64] = T0 * T10[8, 128, 1]
///   T3[8, 128, 64] = reshape(T2)               T3: T4; T10: T9 stretched and reshaped
///
/// The axes of a reshape come from a merge of all that it has; beside the operand itself, in one
/// kernel, each element would be at two places, and tiles of turned tensors have no axes behind a
/// reshape. Sizes are compared once they are constants. Pointwise operations may be in between
/// (before_reshape.h), such as those of the gradient of a norm by groups. Where reductions read
/// what is reshaped, a kernel may hold its rows, as they are reduced: there the way back stays.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void cancelReshapes(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
