/// Pass `memory-order`: an output lies in memory as the input that it has its axes from: channels
/// last in, channels last out.
///
///   T0_g_float[iS0{i0}, iS1{i1}, iS2{i2}]   allocation [i0, i2, i1]
///   T1_g_float[iS3{i0}, iS4{i1}, iS5{i2}] = sin(T0)
/// becomes
///   T1_g_float[iS3{i0}, iS4{i1}, iS5{i2}] = sin(T0)   allocation [i0, i2, i1]
///
/// Then reads and writes of a kernel run along the same axis, and the next program finds the order
/// that this one was given.
///
/// The order is that of the input with most of the output's axes, if it has all of them. Left
/// alone: outputs whose order the user has set, or that reuse an input's storage; outputs with axes
/// of their own (a reshape's); inputs of equally many axes that lie differently.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void inferMemoryOrder(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
