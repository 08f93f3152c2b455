/// TorchScript's nodes as operations of a fusion, by the rules of node_table.h: one node, to see
/// whether it can be, or a group's whole graph for inputs that are there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node_table.h"
#include <ATen/core/stack.h>
#include <torch/csrc/jit/ir/ir.h>

namespace nvfuser::torchscript {

/// The rule of a node's operator; null if there is none.
const NodeRule* ruleOf(const torch::jit::Node* node);

/// Why a node cannot be part of a group, as far as its rule can tell from the profiled types.
std::optional<std::string> refusalOf(torch::jit::Node* node);

/// Whether the node's result may share memory with its argument.
bool mayReturnArgument(const torch::jit::Node* node);

/// Whether the node's result has the sizes of its tensors, broadcast.
bool isPointwise(const torch::jit::Node* node);

/// An input of a group whose value a kernel depends on.
struct BakedInput {
  size_t input;
  bool only_ones;  ///< of a list of sizes, which are 1
  c10::IValue value;

  bool fits(const c10::IValue& other) const;
};

struct LoweredGraph {
  std::shared_ptr<nvf_fusion> fusion;
  std::vector<size_t> inputs;  ///< those of the group that the fusion takes, in its order
  std::vector<BakedInput> baked;
  std::string text;  ///< of the fusion
};

/// Throws `Refusal`.
LoweredGraph lowerGraph(const torch::jit::Graph& graph, c10::ArrayRef<c10::IValue> inputs);

}  // namespace nvfuser::torchscript
