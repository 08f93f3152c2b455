/// Moves less between kernels by computing cheap things again.
///
///   kernel 1:  T1 = float(T0); T2 = sum(T1)      stores T1, T2
///   kernel 2:  T3 = T1 / T2                      reads  T1, T2
///   after:     kernel 1 stores T2 alone; kernel 2 reads T0 and computes T1 = float(T0) itself
///
/// A tensor that only other kernels need is computed by those instead, from inputs and from what is
/// stored anyway or is narrower, if that moves fewer bytes and the schedulers still take all
/// kernels concerned; rows and slices of what is stored are read again. Kernels of one form,
/// which are one launch, stay so unless that moves much more. Never random numbers,
/// reductions, columns or reads at an index, nor what is costly to compute at all places where it
/// is read. A kernel that all of this leaves without results is worth its launch.
#pragma once

#include <segmenter/costly_repeats.h>
#include <segmenter/merge_groups.h>
#include <segmenter/questions.h>

namespace nvfuser {

/// `parts`: every unit is in one of them. Afterwards some units are in several and some parts are
/// empty.
void recomputeAtBorders(const FusionTraits& traits, const MergeCosts& costs,
                        const CostlyRepeats& costly, Questions& questions,
                        std::vector<Part>& parts);

}  // namespace nvfuser
