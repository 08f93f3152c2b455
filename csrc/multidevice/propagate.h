/// Shardings of tensors that the user said nothing about.
///
/// A result is cut as its operands are, the first that is cut deciding; where they leave it whole,
/// as those that read it would like it. Undeclared inputs are whole.
#pragma once

#include <unordered_map>

#include <multidevice/axis_flow.h>
#include <multidevice/sharding.h>

namespace nvfuser::multidevice {

using Flows = std::unordered_map<const Expr*, AxisFlow>;
using Shardings = std::unordered_map<const TensorView*, Sharding>;

/// `declared`, and all others of `exprs`, which are in order.
Shardings propagate(const std::vector<Expr*>& exprs, const Flows& flows, const Shardings& declared);

}  // namespace nvfuser::multidevice
