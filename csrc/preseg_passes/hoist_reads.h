/// Pass `hoist-reads`: what reads a part of a computed tensor (slice, select, index-select, gather)
/// reads that part of the operands instead, if the tensor is computed element by element and
/// nothing reads it whole.
///
///   T1_l_float[iS2{i0}, iS3{64}]   = sin(T0_g_float[iS0{i0}, iS1{64}])
///   T2_g_float[iS4{i0}, iS6rf{8}]  = slice(T1, 0, i0, 1, 0, 8, 1)
/// becomes
///   T3_l_float[iS7{i0}, iS9rf{8}]   = slice(T0, 0, i0, 1, 0, 8, 1)
///   T4_g_float[iS10{i0}, iS11{8}]   = sin(T3)
///
/// Less is computed, and inputs are read at any place. (Where others need the tensor whole, a
/// kernel computes it again for each read, if it is computed from the kernel's inputs:
/// scheduler/resize_to_inputs.h.)
///
/// So do reshapes, broadcasts and squeezes of a tensor of one operand that lead to reads at an
/// index.
///
/// Left alone: tensors that are outputs, or read by anything else, or at several indices, unless
/// computing them takes no longer than reading (casts, sums with numbers); gathers by an index that
/// may be larger than the tensor, unless one operand alone is a tensor.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void hoistReads(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
