/// Memory of every tensor of the kernel.
///
/// Global tensors (inputs, outputs, workspaces) are addressed by their allocation domain. A tensor
/// on chip is allocated inside its innermost shared loop and spans the loop axes behind that: not
/// broadcasts and reductions, not axes that the memory is not shared across (threads and blocks for
/// registers, blocks for shared memory).
///
///   T2_l[ blockIdx.x, UR{4}, threadIdx.x ] ca_pos(1)    float T2[4]
///   T2_s[ blockIdx.x, S{4},  threadIdx.x{128} ] ca_pos(1)   float T2[512] in shared memory
#pragma once

#include <iteration_space/loop_model.h>

namespace nvfuser {

struct Allocation {
  kir::Buffer* buffer = nullptr;
  /// Axes in memory, outermost first, with their extents. Of tensors on chip only.
  std::vector<std::pair<IterDomain*, kir::Scalar>> axes;
  /// On the CPU, memory of a size unknown at compile time is a slice of a workspace per task: base
  /// = task·elements.
  bool per_task = false;
  /// Stages of a circular buffer; the first `elements` are stage 0.
  int64_t stages = 1;
  kir::Scalar stage_elements = nullptr;
  /// Of a tensor that bulk copies load: an mbarrier for each stage, and a register with the phase
  /// of each that is waited for next.
  kir::Buffer* barriers = nullptr;
  kir::Buffer* phases = nullptr;
  /// If threads of their own load it: the same the other way, for stages that have been read.
  kir::Buffer* free = nullptr;
  kir::Buffer* free_phases = nullptr;
};

class Allocations {
 public:
  Allocations(const Fusion& fusion, LoopModel& loops, Symbols& symbols, const LowerOptions& options,
              kir::Kernel& kernel);

  const Allocation& of(const TensorView* tv) const { return map_.at(tv); }
  Allocation& of(const TensorView* tv) { return map_.at(tv); }

 private:
  void addBarriers(const TensorView* tv, bool is_special, Allocation& allocation,
                   kir::Kernel& kernel);

  std::unordered_map<const TensorView*, Allocation> map_;
};

}  // namespace nvfuser
