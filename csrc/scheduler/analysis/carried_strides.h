/// How an input lies along the axes of a tensor that is computed from it, reshapes in between.
///
///   T0[n, c, h, w], channels innermost      strides (c·h·w, 1, w·c, c)
///   T1[n, c, hw] = reshape(T0)
///   T2[n, hw, c] = permute(T1)              of T0 along T2: (c·h·w, c, 1)
///
/// `ReferenceAxes` knows the axes that two tensors share; behind a reshape they share fewer, and
/// loops in the order of the definition would go through such an input across its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <scheduler/runtime_info.h>

namespace nvfuser {

/// Strides of `input`, in elements, along the logical axes of `to` without reductions; 0 along an
/// axis that it lacks. Nothing where no path leads there on which strides can say it.
std::optional<std::vector<int64_t>> carriedStrides(const TensorView* input, const TensorView* to,
                                                   SchedulerRuntimeInfo& info);

}  // namespace nvfuser
