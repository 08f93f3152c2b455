/// Why a scheduled Fusion has no kernel, as far as its loops tell. Schedulers ask before they
/// propose a plan; lowering asks the same.
///
/// The loops that a tensor shares with others cover it, also those in which a reduction's result is
/// stored; a block or thread dimension belongs to one axis of a tensor; circular buffers have a
/// loop to run ahead in; scans come to their elements in order; and no value is kept where its
/// reader cannot see it:
///
///   T1[i0, i1 threadIdx.x]  in registers       thread t holds T1[·, t]
///   T2[i0 threadIdx.x, i1] = exp(T1)           thread t reads T1[t, ·]: held by other threads
///
/// What it does not do: look at domains alone (device_lower/validate_domains.h) or at bulk copies
/// (device_lower/async_copy.h), check sizes and addresses that are known only at a launch.
#pragma once

#include <iteration_space/loop_model.h>
#include <iteration_space/schedule_refusal.h>

namespace nvfuser {

/// `exact`: of the scheduled Fusion, whose `loops` share what they have to.
MaybeRefused refusedSchedule(const Fusion& fusion, const IdGraph& exact, const LoopModel& loops,
                             Symbols& symbols, LowerTarget target);

/// All that lowering would find, in words; nothing where the loops are those of a kernel.
std::optional<std::string> refusedLoops(const Fusion& scheduled, const IdGraph& exact,
                                        LowerTarget target);

}  // namespace nvfuser
