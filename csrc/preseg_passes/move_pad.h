/// Pass `move-pad`: a pad of a tensor that is computed element by element is computed from padded
/// operands, where the operation gives the pad's value for it.
///
///   T1_l_float[iS1{i0}]    = relu(T0_g_float[iS0{i0}])
///   T2_g_float[iS3rf{.}]   = pad(T1, 0.0, 1, 2)
/// becomes
///   T3_l_float[iS5rf{.}]   = pad(T0, 0.0, 1, 2)
///   T4_g_float[iS6{.}]     = relu(T3)
///
/// A pad reads elements elsewhere than they are computed: of an input that is a matter of indices;
/// of a computed tensor it takes a condition on each element (scheduler/resize_to_inputs.h).
///
/// Fires for a pad with +0 and operations that give +0 for zeros (a sum, a product, a cast, a
/// relu …). Left alone: other values; operations that would give −0 or something else; tensors that
/// others read; operands that are broadcast along a padded axis; pads of a concatenation, which are
/// part of it.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void movePad(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
