/// Reductions over broadcast axes, whose elements are all the same: nothing is reduced, an element
/// counts as often as its axis is expanded.
#pragma once

#include <vector>

#include <ir/interface_nodes.h>
#include <ir/op_types.h>

namespace nvfuser::ops {

/// What is left to reduce after the broadcast axes among `axes` were dropped.
struct Squeezed {
  TensorView* tv;
  std::vector<int64_t> axes;
  /// How often each element counts: the product of the expanded extents; null for once.
  Val* times = nullptr;
};

Squeezed squeezeBroadcasts(TensorView* tv, const std::vector<int64_t>& axes);

/// x ∘ x ∘ … (`times` operands).
TensorView* repeatCombination(BinaryOpType type, TensorView* tv, Val* times);

/// `tv`, or `nothing` where it was combined 0 times: an axis may be expanded to no elements.
TensorView* unlessNothing(TensorView* tv, Val* times, Val* nothing);

}  // namespace nvfuser::ops
