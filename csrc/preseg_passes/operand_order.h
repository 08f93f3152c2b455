/// Pass `operand-order`: a permuted operand of a product, or of attention, lies in memory as what
/// it is a permutation of. Libraries take operands in any order, so nothing is copied for it.
///
///   T2_g_float[iS4{i1}, iS5{i0}] = permute(T0_g_float[iS0{i0}, iS1{i1}])
///   T3_g_float[..]               = matmul(T2, T1)
/// becomes
///   T2_g_float[iS4{i1}, iS5{i0}] = permute(T0)     allocation [i0, i1]
///
/// T2 is then a view of T0, or where a kernel computes it, it is written along the axis that the
/// kernel reads along.
///
/// Left alone: outputs, orders that the user has set, operands that something else reads, too, and
/// operands whose innermost axis would be moved by this where attention wants it innermost.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void orderOperands(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
