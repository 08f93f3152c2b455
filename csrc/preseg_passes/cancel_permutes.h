/// Pass `cancel-permutes`: an order of axes that is turned and turned back, with operations element
/// by element in between, is not turned at all.
///
///   T1[m, n] = permute(T0[n, m])              T5[n, 1] = the elements of T2, the other way round
///   T3[m, n] = T1[m, n] * T2[1, n]       →    T6[n, m] = T0[n, m] * T5[n, 1]
///   T4[n, m] = permute(T3)                    T4: T6
///
/// A turned tensor costs a kernel that goes through tiles of both orders, and cuts what is in front
/// of it from what follows. The gradient of a loss of rows and of columns (pairs of images and
/// texts) has the scores turned, their gradient turned back, and one that was not turned beside it.
///
///   T1[n, m] = T0[n, m] / 7                   T4[m, n] = permute(T0)
///   T2[m, n] = permute(T1)               →    T5[m, n] = T4 / 7
///   T3[m]    = sum(T2, n)                     T3[m]    = sum(T5, n)
///
/// One input is turned instead of what is computed of it, where reductions and reads at an index
/// alone follow: an input is read in any order, and in two of them by one kernel.
///
/// The way back leads over pointwise operations, broadcasts, expansions and constants, up to
/// permutes that are the inverse, and to tensors with elements along one axis at most. If it ends
/// elsewhere, or after 48 operations, nothing is exchanged.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void cancelPermutes(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
