/// Which nodes may be in one group. What is refused is told, with the reason, at
/// PYTORCH_JIT_LOG_LEVEL=">partition".
#pragma once

#include <optional>
#include <unordered_map>

#include <torch/csrc/jit/ir/ir.h>

namespace nvfuser::torchscript {

/// The answers of one pass over a graph whose profile nodes are gone.
class Partition {
 public:
  /// Asks all nodes of the graph, those of inner blocks too.
  explicit Partition(torch::jit::Graph& graph);

  /// The device on which a node can be fused; a group has its nodes'.
  std::optional<c10::Device> deviceOf(const torch::jit::Node* node) const;
  /// Whether any node can be.
  bool empty() const { return devices_.empty(); }
  /// A group takes over a node, or has become one.
  void merged(const torch::jit::Node* node) { devices_.erase(node); }
  void made(const torch::jit::Node* group, c10::Device device) {
    devices_.insert_or_assign(group, device);
  }

 private:
  void ask(torch::jit::Block* block);
  std::unordered_map<const torch::jit::Node*, c10::Device> devices_;
};

/// Whether we fuse what is on such a device: CUDA devices always, the CPU inside
/// torch.jit.fuser("fuser2"), where PyTorch's own fuser is off.
bool fusesOn(c10::DeviceType type);

}  // namespace nvfuser::torchscript
