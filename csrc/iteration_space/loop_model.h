/// Which loops the kernel has: the loop axes of all tensors, grouped by inlining into loop classes.
/// One class is one `for` or one thread index. docs/architecture.md follows an example.
///
/// T inlined at position p shares its first p loop axes with those of its consumers; the closure of
/// that is the classes. A class may hold axes made of broadcasts; its loop runs over the most
/// concrete member (loop promotion):
///
///   T1[b0·i1] (ca 1)  and  T3[i0·i1]       one class, promoted to i0·i1
///
/// What it does not do: order statements (loop_tree.h), compute indices (indexer.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ir/last_task.h>
#include <iteration_space/symbols.h>
#include <iteration_space/target.h>

namespace nvfuser {

struct LoopClass {
  int id = 0;
  std::vector<std::pair<const TensorView*, int>>
      members;                           ///< (tensor, position in its loop domain)
  const IterDomain* promoted = nullptr;  ///< the axis that the loop runs over
  ParallelType parallel = ParallelType::Serial;
  bool clustered = false;        ///< blocks along it are a cluster
  bool descending = false;       ///< a scan goes along it backward, and so does all in it
  kir::Scalar extent = nullptr;  ///< iterations
  /// The loop variable, a thread or block index, or a constant (extent 1, vectorized axes).
  kir::Scalar index = nullptr;
  /// Of a thread or block: its index, which is beyond `extent` where more are launched.
  kir::Scalar thread = nullptr;

  bool isThread() const { return isParallelTypeThread(parallel); }
};

class LoopModel {
 public:
  LoopModel(const Fusion& fusion, const IdGraph& exact, Symbols& symbols,
            const LowerOptions& options);

  /// Why the schedule has no loops: axes that would be one loop cannot share it. Nothing else may
  /// be asked then.
  const std::optional<std::string>& refusal() const { return refusal_; }

  const LoopClass& of(const TensorView* tv, int position) const;
  /// Loop classes of all loop axes of a tensor, outermost first.
  std::vector<const LoopClass*> path(const TensorView* tv) const;
  const std::vector<std::unique_ptr<LoopClass>>& classes() const { return classes_; }
  /// A loop over one axis of a tensor that no other statement shares (initialising a reduction).
  /// Bound to threads or blocks, it goes through the axis as the shared loop does.
  const LoopClass* makePrivate(const TensorView* tv, int position);

  /// Launch extent of a block or thread dimension; null where the kernel does not use it.
  kir::Scalar dimension(ParallelType type) const;
  /// Blocks of a cluster along a block dimension; null where there are no clusters.
  kir::Scalar cluster(ParallelType type) const;
  /// Index of a block or thread dimension; 0 where the kernel does not use it.
  kir::Scalar parallelIndex(ParallelType type) const;
  /// Whether more than one block / thread may run along the dimension.
  bool isUsed(ParallelType type) const;
  /// The axis of a tensor whose loop is bound to the dimension; null if none is.
  const IterDomain* boundAxis(const TensorView* tv, ParallelType type) const;
  /// What that loop runs over.
  const IterDomain* promotedAxis(const TensorView* tv, ParallelType type) const;
  /// Whether the threads (blocks) along the dimension compute different elements of `tv`. If not,
  /// each of them computes all of it.
  bool isSpread(const TensorView* tv, ParallelType type) const;
  /// Whether some of them compute the same element all the same: their axis has a broadcast axis
  /// merged in.
  bool isRepeated(const TensorView* tv, ParallelType type) const;
  /// Whether a loop over the axis comes to the same element again: a broadcast is part of it.
  static bool isRepeated(const IterDomain* axis);
  bool isCpu() const { return options_.target == LowerTarget::Cpu; }
  /// On the CPU, the reduction over blocks whose last task alone computes `tv`; null for others.
  const Expr* lastTaskOf(const TensorView* tv) const {
    const auto found = last_tasks_.find(tv);
    return found == last_tasks_.end() ? nullptr : found->second;
  }

 private:
  /// Binding of an axis as this target sees it (threads are loops on the CPU).
  ParallelType effective(const TensorView* tv, int position) const;
  void makeLoops(const Fusion& fusion, const IdGraph& exact);
  /// Whether what the CPU's tasks share is one number for each: no loop goes around it.
  bool reducedBlocksHaveOneState() const;
  template <typename... Parts>
  void refuse(const Parts&... parts) {
    if (!refusal_) {
      refusal_ = text(parts...);
    }
  }
  void group(const Fusion& fusion);
  void promote(LoopClass& loop, const IdGraph& exact);
  void bind(LoopClass& loop);
  /// Which way scans go along their loops.
  void setDirections(const Fusion& fusion);
  void setDimensions();
  void setIndex(LoopClass& loop);

  Symbols& symbols_;
  LowerOptions options_;
  std::optional<std::string> refusal_;
  bool serial_blocks_ = false;
  LastTasks last_tasks_;
  std::unordered_map<const TensorView*, std::vector<LoopClass*>> paths_;
  std::vector<std::unique_ptr<LoopClass>> classes_;
  kir::Scalar dimension_[static_cast<size_t>(ParallelType::Count)] = {};
  kir::Scalar index_[static_cast<size_t>(ParallelType::Count)] = {};
};

/// Tensors whose definition is part of the kernel, in order of definition.
std::vector<TensorView*> computedTensors(const Fusion& fusion);

}  // namespace nvfuser
