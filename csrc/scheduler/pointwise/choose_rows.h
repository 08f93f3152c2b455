/// How many rows a thread of a GPU computes.
///
///   T4[n, m] = f(area(T0[n, ...]), area(T1[m, ...]))   pairs of boxes, whose coordinates lie apart
///
/// What is computed of columns alone, area(T1), is computed once for all rows of a thread.
#pragma once

#include <unordered_set>

#include <scheduler/analysis/reference_axes.h>
#include <scheduler/pointwise/pointwise.h>

namespace nvfuser::pointwise {

/// Several rows where they share enough operations on columns, and enough threads are left.
void chooseRows(const Fusion& fusion, const ReferenceAxes& reference,
                const std::unordered_set<TensorView*>& nest, SchedulerRuntimeInfo& info,
                PointwiseParams& params);

}  // namespace nvfuser::pointwise
