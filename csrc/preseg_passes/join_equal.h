/// Pass `join-equal`: what is computed twice is computed once.
///
///   T1_l_float[iS1{4}]   = slice( T0_g_float[iS0{5}], 1, 5, 1 )
///   T2_l_float[iS2{4}]   = slice( T0_g_float[iS0{5}], 1, 5, 1 )
///   T3_g_float[iS3{4}]   = T1_l_float[iS1{4}] * T2_l_float[iS2{4}]
/// becomes
///   T1_l_float[iS1{4}]   = slice( T0_g_float[iS0{5}], 1, 5, 1 )
///   T3_g_float[iS3{4}]   = T1_l_float[iS1{4}] * T1_l_float[iS1{4}]
///
/// Programs that are written by functions take the same part, or the same sum, over and over; a
/// chain in which each step does so would be planned several times over.
///
/// Two operations are equal if their kind, attributes and results' axes are, and their operands
/// have equal values: tensors by these rules, scalars by fingerprint. Left alone: pointwise
/// operations, broadcasts and copies, which cost a reader nothing but a register (joined, they
/// would tie kernels together that only read the same tensors), but for a broadcast that is read at
/// an index, so that what may be stored for that is one tensor; what draws random numbers; what
/// reads no tensor (`full`, `iota`).
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void joinEqual(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
