/// Pass `broadcast-squeeze`: axes of extent 1 that are added and dropped again are not added;
/// several additions, or several drops, become one.
///
///   T1_l_float[bS1{1}, iS2{i0}] = broadcast(T0_g_float[iS0{i0}])
///   T2_l_float[iS3{i0}]         = squeeze(T1_l_float[bS1{1}, iS2{i0}])
///   T3_g_float[iS4{i0}]         = sin(T2_l_float[iS3{i0}])
/// becomes
///   T3_g_float[iS4{i0}]         = sin(T0_g_float[iS0{i0}])
///
/// Reductions that keep their axes, expansions to a common rank and frameworks' unsqueeze make such
/// pairs; each hides from the schedulers that two tensors have the same axes.
///
/// Left alone: an expanded axis that is dropped and then added unexpanded; drops and additions of
/// different axes.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void cancelBroadcastSqueeze(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
