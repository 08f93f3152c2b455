/// What can be fused: for each of PyTorch's operators, how it is expressed by operations of ours.
/// A node can be fused if its rule, tried on the profiled types, throws no `Refusal`; a new
/// operator is one line of a table.
#pragma once

#include <span>
#include <string_view>

#include "node_call.h"

namespace nvfuser::torchscript {

enum class NodeKind : uint8_t {
  Compute,
  /// Its result shares memory with its first argument. A group computes with it, but never returns
  /// it: it is taken again outside, where sharing memory is what the program means.
  View,
  /// A view, its argument itself, where that has the dtype and sizes of the result already.
  Conversion,
};

enum class ResultSizes : uint8_t {
  Other,
  Broadcast,  ///< those of its tensors
};

struct NodeRule {
  std::string_view name;  ///< of the operator, with its overload: "aten::add.Tensor"
  void (*lower)(NodeCall&);
  NodeKind kind = NodeKind::Compute;
  ResultSizes sizes = ResultSizes::Other;  ///< of pointwise rules it is set where they are joined
};

/// Null if there is none.
const NodeRule* findRule(std::string_view name);

// The tables, one for each file node_table_*.cpp.
std::span<const NodeRule> pointwiseRules();
std::span<const NodeRule> activationRules();
std::span<const NodeRule> reductionRules();
std::span<const NodeRule> normalisationRules();
std::span<const NodeRule> shapeRules();

}  // namespace nvfuser::torchscript
