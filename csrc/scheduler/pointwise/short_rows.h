/// Whether a thread of a GPU computes a whole short row.
///
///   T9[n, 12] = stack(f(T0[n]), f(f(T0[n])), …)     a thread has all 12 places of its row
///
/// What lacks the innermost axis is computed once for the row then, and each place knows the part
/// that it is joined of. Neighbouring threads write places that lie a row apart, which caches make
/// up for while rows are short.
#pragma once

#include <vector>

#include <scheduler/pointwise/loop_nests.h>
#include <scheduler/runtime_info.h>

namespace nvfuser::pointwise {

/// Whether all nests end with a short axis of constant extent, and what the rows of one share costs
/// enough. `order`: of the axes of each nest's reference; `vectorization`: neighbours that a thread
/// computes otherwise.
bool takesShortRows(const Fusion& fusion, const std::vector<LoopNest>& nests,
                    const std::vector<int64_t>& order, int64_t vectorization,
                    SchedulerRuntimeInfo& info);

}  // namespace nvfuser::pointwise
