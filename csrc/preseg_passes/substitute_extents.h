/// Pass `substitute-extents`: axes that are equal in every run have one extent: a constant if any
/// of them has one, else the symbol that was made first.
///
///   T2_g_float[iS2{i1}] = T0_g_float[iS0{i1}] + T1_g_float[iS1{8}]
/// becomes
///   T2_g_float[iS3{8}]  = T0_g_float[iS4{8}] + T1_g_float[iS5{8}]
///
/// Which axes are equal is read off the exact graph of axes. Schedulers and later passes see
/// constants where one operand alone has them, and that two symbols are the same size.
///
/// Left alone: broadcast axes and what they meet; sizes that are computed from others (their
/// operands are exchanged); axes that would have two constants, which is an error of the run.
/// That inputs have the sizes which are taken for equal here is to be checked for each run, with
/// `equalExtents` of the Fusion before.
#pragma once

#include <utility>
#include <vector>

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void substituteExtents(Fusion& fusion);

/// Pairs (symbol, what it equals in every run), by the symbols' names.
std::vector<std::pair<Val*, Val*>> equalExtents(const Fusion& fusion);

}  // namespace nvfuser::preseg_passes
