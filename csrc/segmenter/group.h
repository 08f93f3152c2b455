/// `Group`: expressions of a Fusion that become one kernel.
#pragma once

#include <vector>

#include <ir/fusion.h>

namespace nvfuser {

struct Group {
  std::vector<Expr*> exprs;          ///< producers first
  std::vector<TensorView*> outputs;  ///< stored: read by others, or outputs of the fusion
  std::vector<TensorView*> inputs;   ///< read, but computed outside, or inputs of the fusion
};

/// The group of these expressions (producers first): inputs in order of first use, outputs in order
/// of definition.
Group makeGroup(const Fusion& fusion, std::vector<Expr*> exprs);

/// Expressions of the fusion that compute tensors, producers first.
std::vector<Expr*> tensorExprs(const Fusion& fusion);

}  // namespace nvfuser
