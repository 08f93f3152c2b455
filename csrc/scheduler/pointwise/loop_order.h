/// The order in which a kernel's loops go through the axes of its reference, an output: that of the
/// largest tensor in memory, where all tensors can follow.
///
///   T1[n, c, h, w] = relu(T0[n, c, h, w])    T0 with its channels innermost: n, h, w, c
#pragma once

#include <optional>
#include <vector>

#include <scheduler/analysis/reference_axes.h>
#include <scheduler/pointwise/loop_nests.h>
#include <scheduler/registry.h>

namespace nvfuser::pointwise {

/// Of an output, by its number.
std::vector<int64_t> orderAsDefined(const Fusion& fusion, int64_t reference);

/// Why loops in this order are not those of every tensor; nothing if they are.
std::optional<Refusal> refusesOrder(const Fusion& fusion, const std::vector<LoopNest>& nests,
                                    int64_t reference, std::vector<int64_t> order);

/// `tensors`: what the first nest reads and writes. Where some of them have other axes, as behind a
/// reshape or in front of a slice, not all orders suit.
std::vector<int64_t> loopOrder(const Fusion& fusion, int64_t reference, const ReferenceAxes& axes,
                               const std::vector<TensorView*>& tensors, SchedulerRuntimeInfo& info);

}  // namespace nvfuser::pointwise
