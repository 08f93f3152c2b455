/// Pass `read-outputs`: what is computed of a tensor that an output is a copy of is computed of the
/// output.
///
///   T2 = set(T1)            T2 is an output         T2 = set(T1)
///   T3 = float(T1)                             →    T3 = float(T2)
///
/// A kernel that is cut off from the one that computes T1 reads T2 then, which is stored anyway.
///
/// Left alone: outputs that are written over inputs; values of rows, which kernels of reductions
/// keep and know by their form; and readers that are no pointwise operations, which might be shown
/// as views of an output.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void readOutputs(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
