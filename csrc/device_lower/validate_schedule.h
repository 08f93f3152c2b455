/// Is the schedule one that a kernel can carry out? Throws `UserError` where it is not.
///
/// What: the loops that a tensor shares with others cover it, also those in which a reduction's
/// result is stored; a block or thread dimension belongs to one axis of a tensor; bulk copies are
/// copies (async_copy.h); circular buffers have a loop to run ahead in; and no value is kept where
/// its reader cannot see it:
///
///   T1[i0, i1 threadIdx.x]  in registers       thread t holds T1[·, t]
///   T2[i0 threadIdx.x, i1] = exp(T1)           thread t reads T1[t, ·]: held by other threads
///
/// Why here: it asks which axes share a loop, so the loops are known; nothing has a size, an order
/// or an index yet, and the passes behind it may take for granted what it has found. The domains
/// alone were looked at before (validate_domains.h).
///
/// What it does not do: say where barriers go (insert_syncs.h), check sizes and addresses that are
/// known only at a launch (`kir::LaunchCheck`).
#pragma once

#include <iteration_space/loop_model.h>

namespace nvfuser {

void validateSchedule(const Fusion& fusion, const IdGraph& exact, const LoopModel& loops,
                      Symbols& symbols, LowerTarget target);

}  // namespace nvfuser
