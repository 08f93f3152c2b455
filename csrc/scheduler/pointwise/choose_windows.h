/// Loops of element-wise kernels that read inputs through windows (slices, pads, joins).
///
///   [b, s, h] of cat(T0[b, s, h0], T1[b, s, h1], -1)   →   [b·s, h]: rows that vectors go along
#pragma once

#include <vector>

#include <scheduler/analysis/reference_axes.h>
#include <scheduler/pointwise/loop_nests.h>
#include <scheduler/pointwise/pointwise.h>

namespace nvfuser::pointwise {

/// Where rows go through windows, only loops that end with a row can go along them in vectors.
void cutForWindows(const Fusion& fusion, const ReferenceAxes& reference,
                   const std::vector<TensorView*>& windows, SchedulerRuntimeInfo& info,
                   PointwiseParams& params);

/// The widths of what each nest reads through windows; of an input with several, the least.
void chooseWindows(const Fusion& fusion, const std::vector<LoopNest>& nests,
                   SchedulerRuntimeInfo& info, PointwiseParams& params);

}  // namespace nvfuser::pointwise
