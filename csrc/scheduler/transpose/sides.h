/// The two sides of a transpose: the axes along which most bytes lie in memory, and those along
/// which the others do.
///
///   T0[n, c, h, w] → T1[n, h, w, c]    sides (h, w) of T0 and (c) of T1, rest (n)
#pragma once

#include <scheduler/analysis/reference_axes.h>
#include <scheduler/registry.h>

namespace nvfuser::transpose {

struct Sides {
  /// Axes of the reference (numbers), outermost first; the sides lie together in the memory of
  /// their tensors.
  std::vector<int64_t> compute;
  std::vector<int64_t> other;
  std::vector<int64_t> rest;
  /// Tensors that lie along the other side and have both.
  std::vector<const TensorView*> turned;
  int64_t compute_extent = 1;
  int64_t other_extent = 1;
  int64_t rest_extent = 1;
  double bytes = 0;            ///< of all border tensors
  double turned_bytes = 0;     ///< of those that pass a tile of their own
  double pointwise_bytes = 0;  ///< that cross memory without tiles: whole lines for each element
};

/// The sides, or why there are none that gain anything. `tensors` are covered by the reference.
std::variant<Sides, Refusal> findSides(const ReferenceAxes& reference,
                                       const std::vector<TensorView*>& tensors,
                                       SchedulerRuntimeInfo& info);

}  // namespace nvfuser::transpose
