/// Whether the innermost axis has a loop around those of vectors, on the CPU.
///
///   T2[n, 3] = T0[n, 3] * T1[n]          three loops of vectors along n
///   T2[n, 2] = cat(T0[n, 1], T1[n, 1])   two, each of which knows what it joins
///   T9[n, 24] = cat(sin(T0[n, 3]), …)    24, each of which computes one of the costly parts
///   T9[n, 9] = stack(T0[n], T1[n], …)    9, each of which computes one of the narrow parts
///   T2[n, 3] = T0[n, 3] * T1[n, 3]       one, along both axes
///
/// Vectors along a short axis and the next one at once would divide each element's index, where a
/// tensor has one of them alone.
#pragma once

#include <vector>

#include <scheduler/pointwise/loop_nests.h>
#include <scheduler/runtime_info.h>

namespace nvfuser::pointwise {

/// Whether all nests end with a short axis that their tensors do not share: one that some have
/// alone, and others not at all. `order`: of the axes of each nest's reference.
bool isInnermostApart(const Fusion& fusion, const std::vector<LoopNest>& nests,
                      const std::vector<int64_t>& order, SchedulerRuntimeInfo& info);

}  // namespace nvfuser::pointwise
