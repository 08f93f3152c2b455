/// `Group`: expressions of a Fusion that become one kernel.
#pragma once

#include <functional>
#include <vector>

#include <ir/fusion.h>

namespace nvfuser {

struct Group {
  std::vector<Expr*> exprs;          ///< producers first
  std::vector<TensorView*> outputs;  ///< stored: read by others, or outputs of the fusion
  std::vector<TensorView*> inputs;   ///< read, but computed outside, or inputs of the fusion
};

/// The group of these expressions (producers first): inputs in order of first use. Of what they
/// compute, the tensors for which `stored` holds are outputs, in order of definition.
Group makeGroup(std::vector<Expr*> exprs, const std::function<bool(const TensorView*)>& stored);

/// All of the fusion, to be run as one kernel.
Group wholeGroup(const Fusion& fusion);

/// Expressions of the fusion that compute tensors, producers first.
std::vector<Expr*> tensorExprs(const Fusion& fusion);

}  // namespace nvfuser
