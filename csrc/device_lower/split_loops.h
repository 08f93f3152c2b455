/// Takes loops of the CPU's vectors apart where a choice changes its mind.
///
/// What: a loop in which a condition on its variable chooses what an element is becomes one loop
/// before the place at which the condition turns, and one behind it. Each computes its own side
/// alone.
///
///   for k in 0..i0 + 2 simd                    for m in 0..min(2, i0 + 2) simd
///     T1 = k < 2                                 T4[m] = T0[2 - m]
///     T2 = k < 2 ? T0[2 - k] : 0          →    for m in 0..i0 + 2 - min(2, i0 + 2) simd
///     T3 = T0[k - 2]                             T4[m + 2] = T0[m]
///     T4[k] = where(T1, T2, T3)
///
/// Why: vectors compute both sides of a choice for all of their elements. Joins, paddings by mode
/// and rolls choose between parts of memory, and nearly all vectors lie within one of them: each
/// reads one run of memory then, without a mask.
///
/// Why here: indices and requests for lines (fetch_ahead.h) are final, and have no names yet.
///
/// What it does not do: conditions that a loop around has (codegen/host_lanes_unread.cpp), that are
/// no line in the variable, or come from data; loops that sum, whose order would be another one;
/// loops of few elements, and more than a few parts.
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser {

constexpr int kMostLoopParts = 6;  ///< that a loop is split into

void splitLoops(kir::Kernel& kernel);

}  // namespace nvfuser
