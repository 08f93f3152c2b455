/// Pass `join-equal`: what is computed twice is computed once.
///
///   T1_l_float[ iS1{i0} ]    = sin(T0_g_float[ iS0{i0} ])
///   T2_l_float[ iS2{i0} ]    = sin(T0_g_float[ iS0{i0} ])
///   T3_g_float[ iS3{i0} ]    = T1_l_float[ iS1{i0} ] * T2_l_float[ iS2{i0} ]
/// becomes
///   T1_l_float[ iS1{i0} ]    = sin(T0_g_float[ iS0{i0} ])
///   T3_g_float[ iS3{i0} ]    = T1_l_float[ iS1{i0} ] * T1_l_float[ iS1{i0} ]
///
/// Programs that are written by functions take the same slice, or the same cast, over and over; a
/// chain in which each step does so would be planned several times over. Whether a result is then
/// stored or computed again is for the segmenter to say (`segmenter/recompute.h`).
///
/// Two operations are equal if their kind, attributes, operands and results' axes are: tensors by
/// identity, scalars by fingerprint. Left alone: what draws random numbers, and what reads no
/// tensor (`full`, `iota`), which costs nothing where it is read and would tie its readers
/// together.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void joinEqual(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
