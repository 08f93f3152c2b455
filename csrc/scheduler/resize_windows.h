/// How tensors are read through slices and pads: a window for each axis.
///
/// A window is moved through a reshape where it takes whole inner axes with it:
///
///   T1[b, s, h·d] = reshape(T0[b, s, h, d])
///   T2 = pad(T1, 0, 2·h·d)                           of the last axis
///
/// becomes
///
///   T3[b, s, 3·h, d] = pad(T0, 0, 2·h)               of the axis h
///   T2[b, s, 3·h·d] = reshape(T3)
///
/// So heads that were merged into rows can be joined with others in one kernel.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include <ir/internal_nodes.h>

namespace nvfuser::scheduler_tools {

/// How one axis of a tensor is read: at start + j·step for 0 ≤ j < extent. A null start: as it is.
struct Window {
  Val* start = nullptr;
  Val* extent = nullptr;
  bool inside = true;  ///< no j leads outside
  int64_t step = 1;    ///< negative: backwards

  bool isMoved() const { return start != nullptr; }
};
using Windows = std::vector<Window>;

/// A reshape whose result is read through windows.
class WindowsOfReshape {
 public:
  /// `windows`: of the logical axes of `result`. Nothing where what is read of the operand is no
  /// box: a window of an inner axis, or one that begins or ends amid an inner axis (or might).
  static std::optional<WindowsOfReshape> of(const TensorView* result, const Windows& windows);

  /// Of the operand, one for each root axis of the result.
  Windows ofRoot() const;
  /// The result's logical axes, over other root axes: those of the operand through its windows.
  std::vector<IterDomain*> axesOver(const std::vector<IterDomain*>& root) const;

 private:
  explicit WindowsOfReshape(const TensorView* result) : result_(result) {}

  bool spread(const IterDomain* id);

  const TensorView* result_;
  std::unordered_map<const IterDomain*, Window> windows_;  ///< of all axes, root to logical
};

}  // namespace nvfuser::scheduler_tools
