/// What runs in a prim::CudaFusionGroup: fusions made from the group's graph when first needed, one
/// for each kind of inputs (dtypes, ranks, contiguity, values that kernels depend on; sizes may
/// change), and the graph itself where none can be made.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "known_call.h"
#include "lower_graph.h"
#include <ATen/core/stack.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

namespace nvfuser::torchscript {

class GraphCache {
 public:
  /// `id`: the group's cache_id.
  GraphCache(std::shared_ptr<torch::jit::Graph> graph, int64_t id);

  /// Inputs of the group from the stack, outputs onto it. From any thread.
  void run(torch::jit::Stack& stack);

 private:
  /// One kind of inputs.
  struct Entry {
    std::vector<uint64_t> traits;  ///< of tensors; of other inputs the kind of number
    std::vector<BakedInput> baked;
    std::vector<size_t> inputs;
    std::shared_ptr<nvf_fusion> fusion;  ///< null: it cannot be fused
    int64_t draws = 0;
    std::string failure;               ///< why
    std::atomic<bool> failed = false;  ///< it could not be compiled
    std::atomic<bool> was_run = false;
  };

  Entry& entryFor(c10::ArrayRef<c10::IValue> inputs);
  std::unique_ptr<Entry> make(c10::ArrayRef<c10::IValue> inputs, std::vector<uint64_t> traits);
  static bool fits(const Entry& entry, const uint64_t* traits, c10::ArrayRef<c10::IValue> inputs);
  /// Whether it ran; else the stack is as it was.
  bool runFused(Entry& entry, torch::jit::Stack& stack);
  bool repeat(const Entry& entry, torch::jit::Stack& stack);
  void runGraph(torch::jit::Stack& stack);
  void fallBack(Entry& entry, torch::jit::Stack& stack, const std::string& reason);

  std::shared_ptr<torch::jit::Graph> graph_;
  int64_t id_;
  size_t num_inputs_, num_outputs_;
  torch::jit::Code code_;  ///< of the graph, unfused
  std::mutex mutex_;       ///< of the entries
  std::vector<std::unique_ptr<Entry>> entries_;
  Entry overflow_;  ///< of kinds of inputs that are too many
  std::atomic<Entry*> latest_ = nullptr;
  KnownCalls known_;  ///< after the entries, whose fusions they use
  std::atomic<bool> warned_ = false;
};

/// Unless PYTORCH_NVFUSER_DISABLE=fallback.
bool mayFallBack();

/// The cache_id of a group's graph; equal graphs share one.
int64_t cacheIdOf(const std::shared_ptr<torch::jit::Graph>& graph);
/// The cache with this id.
std::shared_ptr<GraphCache> cacheWith(int64_t id);

}  // namespace nvfuser::torchscript
