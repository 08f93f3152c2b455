/// How the tensors at a Fusion's borders lie along the axes of one of them, the reference: which of
/// its axes each has, in what order memory holds them, and how many elements one access can move.
///
///   T2[i0, i1] = T0[i0, i1] + T1[b, i1]      reference T2
///   presence:  T0 (yes, yes)   T1 (no, yes)   T2 (yes, yes)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <id_model/id_graph.h>
#include <scheduler/runtime_info.h>

namespace nvfuser {

class ReferenceAxes {
 public:
  /// For the fusion as defined, before anything is scheduled.
  ReferenceAxes(const Fusion& fusion, const TensorView* reference);

  /// The reference's logical axes without reductions.
  const std::vector<IterDomain*>& axes() const { return axes_; }
  /// The axis of `tv` that is the reference's axis number `i`; null where `tv` lacks it or is
  /// broadcast along it.
  IterDomain* find(const TensorView* tv, size_t i) const;
  /// Whether each axis of `tv` that is no broadcast is one of the reference's. (Not so behind a
  /// reshape or an indexed read.)
  bool covers(const TensorView* tv) const;

  /// An axis of a tensor that loops go along, and how many elements of it at a time.
  struct Part {
    IterDomain* id = nullptr;
    int64_t run = 0;  ///< loops go on at another place behind each so many, if not before
  };
  /// What loops over `tv`'s memory go along innermost, if threads go along the reference's axis
  /// number `i`: the axis itself, or where a reshape lies between, the part of it that runs
  /// fastest. No axis where `tv` has neither.
  ///
  ///   T1[n, h·d] = reshape(T0[n, h, d])      T0's part of h·d is d, T1's part of d is h·d, each
  ///                                          in runs of d
  Part fastestPart(const TensorView* tv, size_t i, SchedulerRuntimeInfo& info) const;

  /// Of `tv` along each of the reference's axes, in elements; 0 where it has one element, or lacks
  /// the axis.
  std::vector<int64_t> strides(const TensorView* tv, SchedulerRuntimeInfo& info) const;

  /// The reference's axes in the order in which memory holds `tv`, outermost first; axes that it
  /// lacks keep their place among the others as far as that goes.
  std::vector<int64_t> memoryOrder(const TensorView* tv, SchedulerRuntimeInfo& info) const;
  /// The same of the largest of these tensors, inputs behind reshapes and windows among them
  /// (carried_strides.h); the order of the definition where none tells.
  std::vector<int64_t> memoryOrderOfLargest(const std::vector<TensorView*>& tensors,
                                            SchedulerRuntimeInfo& info) const;

  /// The largest power of two of elements of `tv` that one access can move, if a thread goes along
  /// `inner`, the reference's axes that are merged into the innermost loop (numbers, outermost
  /// first). 0: `tv` has the same element along the innermost axis, so there is nothing to move
  /// together. `tail`: the last access of the whole loop may be cut; where `tv` is one run of
  /// memory along it, its size need not be a multiple then.
  int64_t vectorWidth(const TensorView* tv, const std::vector<int64_t>& inner,
                      SchedulerRuntimeInfo& info, bool tail = false) const;

  /// What the innermost of the loops over `inner` goes through of a tensor's memory.
  struct Step {
    int64_t elements = 0;  ///< between neighbours; 0: it has one for all, or a reshape lies between
    int64_t span = 0;      ///< from the first to the last before it is at the first again
  };
  Step step(const TensorView* tv, const std::vector<int64_t>& inner,
            SchedulerRuntimeInfo& info) const;

  /// Whether loops over `inner` go through `tv` in one run of memory, or stay at one element of it.
  /// Otherwise each element's place is found by divisions.
  bool isRun(const TensorView* tv, const std::vector<int64_t>& inner,
             SchedulerRuntimeInfo& info) const;

 private:
  struct MemoryAxis;
  /// What a loop over some axes goes through, from the innermost axis outwards.
  struct Run {
    std::vector<int64_t> extents;  ///< of memory axes, or of the part of one
    /// All of the loop is this run. Otherwise its index is divided by the run's extents.
    bool whole = true;
    bool lacks_axis = false;  ///< it ended at an axis that the tensor has not
  };
  static std::vector<MemoryAxis> memoryAxes(const TensorView* tv, SchedulerRuntimeInfo& info);
  /// Whether loops over `inner` go through all of an input's memory in order, behind a reshape of
  /// sizes that are constants: no division is left then.
  bool isReshapedWhole(const TensorView* tv, const std::vector<int64_t>& inner,
                       const std::vector<MemoryAxis>& memory, SchedulerRuntimeInfo& info) const;
  Run runOf(const TensorView* tv, const std::vector<int64_t>& inner,
            const std::vector<MemoryAxis>& memory, SchedulerRuntimeInfo& info) const;

  const TensorView* reference_;
  IdGraph graph_;
  std::vector<IterDomain*> axes_;
};

/// Tensors among the fusion's inputs that are read, and its computed outputs.
std::vector<TensorView*> borderTensors(const Fusion& fusion);

}  // namespace nvfuser
