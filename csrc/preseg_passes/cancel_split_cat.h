/// Pass `cancel-split-cat`: slices of one tensor that are joined again in their order are that
/// tensor (or one slice of it), also where each slice went through the same element-wise
/// operations.
///
///   T1_l_float[iS2{i0}, iS4rf{2}]   = slice(T0, 0, i0, 1, 0, 2, 1)
///   T2_l_float[iS5{i0}, iS7rf{4}]   = slice(T0, 0, i0, 1, 2, 6, 1)
///   T7_g_float[iS16{i0}, iS17{6}]   = cat(pad(sin(T1)), pad(sin(T2)))
/// becomes
///   T8_g_float[iS18{i0}, iS19{6}]   = sin(T0)
///
/// Splitting projections into heads and joining their gradients makes such pairs; each costs a
/// pass over the data.
///
/// Left alone: parts in another order, with gaps or overlaps; parts of one element, which are read
/// by index; bounds that only a run shows to be equal; operations that differ between the parts.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void cancelSplitCat(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
