/// Whether a kernel can carry out a scan: its loops come to the elements in order, nothing comes to
/// them again in between, and threads that share an axis have their elements first.
#pragma once

#include <iteration_space/loop_model.h>
#include <iteration_space/schedule_refusal.h>

namespace nvfuser {

/// Positions of the loops along the axis of a scan that threads of a block share; none: each goes
/// along all of it.
std::vector<int> threadsOfScan(const TensorView* scanned, const LoopModel& loops);

MaybeRefused refusedScan(const TensorView* tv, const IdGraph& exact, const LoopModel& loops,
                         Symbols& symbols);

}  // namespace nvfuser
