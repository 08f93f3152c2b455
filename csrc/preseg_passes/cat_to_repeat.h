/// Pass `cat-to-repeat`: a tensor that is joined with itself is repeated: expanded along a new axis
/// that is merged into the old one. Nothing is padded, so what computes the tensor needs no kernel
/// of its own.
///
///   T4_g_float[iS9{i0}, iS10{12}]  = cat(pad(T1), pad(T1), dim = 1)
/// becomes
///   T5_l_float[iS11{i0}, bS13{1}, iS12{6}]  = broadcast(T1)
///   T6_l_float[iS14{i0}, iS15{2}, iS16{6}]  = repeat(T5)
///   T7_g_float[iS17{i0}, iS20rf{12}]        = reshape(T6)
///
/// Rotary embeddings join their angles with themselves; so do tiled masks.
///
/// Left alone: parts that are different tensors, though they be computed alike.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void turnCatIntoRepeat(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
