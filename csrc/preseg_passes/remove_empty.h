/// Pass `remove-empty`: a tensor that is known to have no elements is not computed, nor is what
/// only it needs.
///
///   T2_l_float[iS4{i0}, iS5{0}]  = sin(T1_l_float[iS2{i0}, iS3{0}])
///   T3_g_float[iS6{i0}, rS7{0}]  = sum(T2_l_float[iS4{i0}, iS5{0}])
/// becomes
///   T4_g_float[iS8{i0}]          = full(0)
///
/// An empty output becomes a `full`, for which no kernel is launched; a reduction over nothing is
/// its neutral element (Welford's: mean NaN, deviations and count 0), a pad of nothing its value,
/// and a concatenation forgets parts without elements.
///
/// Left alone: sizes that are symbols (a run decides; see `LaunchPlan`), inputs that are outputs.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void removeEmpty(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
