/// Pass `consecutive-casts`: a cast of a cast becomes one cast of the first operand, where the
/// first cast can lose nothing; if that ends at the dtype it began with, none is left.
///
///   T1_l_float[iS1{i0}]    = castOp(T0_g___bfloat[iS0{i0}])
///   T2_g_double[iS2{i0}]   = castOp(T1_l_float[iS1{i0}])
/// becomes
///   T2_g_double[iS2{i0}]   = castOp(T0_g___bfloat[iS0{i0}])
///
/// Composite operations compute in float and return half; a chain of them casts up and down at each
/// border, and so do programs translated from other front ends.
///
/// Left alone: a narrowing cast followed by a widening one (float → half → float), which rounds;
/// casts between integers and floating-point numbers unless every value of the first dtype exists
/// in the others; the type of indices, whose width is not known yet.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void mergeConsecutiveCasts(Fusion& fusion);

/// Whether every value of `from` is a value of `to`.
bool castLosesNothing(DataType from, DataType to);
/// Whether a cast from `first` by way of `middle` to `last` gives for each value what the direct
/// one gives.
bool canCastDirectly(DataType first, DataType middle, DataType last);

}  // namespace nvfuser::preseg_passes
