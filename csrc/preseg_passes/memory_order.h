/// Pass `memory-order`: a tensor lies in memory as the operand that it has its axes from: channels
/// last in, channels last out, and so what lies between two kernels.
///
///   T0_g_float[iS0{i0}, iS1{i1}, iS2{i2}]   allocation [i0, i2, i1]
///   T1_g_float[iS3{i0}, iS4{i1}, iS5{i2}] = sin(T0)
/// becomes
///   T1_g_float[iS3{i0}, iS4{i1}, iS5{i2}] = sin(T0)   allocation [i0, i2, i1]
///
/// Then reads and writes of a kernel run along the same axis, and the next program finds the order
/// that this one was given.
///
/// The order is carried from operand to result, from operands that have all of the result's axes.
/// A reshape keeps it where it splits an axis, or merges axes that are
/// neighbours in memory. It is asked for where the tensor is stored: tensors that stay within a
/// kernel lose it again (segmenter/extract.h).
///
/// Left alone: tensors whose order the user has set; outputs that reuse an input's storage, or lie
/// behind a reshape; what libraries compute or read; operands of all axes that lie
/// differently.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void inferMemoryOrder(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
