/// Where in memory a statement reads and writes: the one way from loop variables to offsets.
///
/// Known are the loop variables around the statement, each the index of its (promoted) loop axis.
/// Through the exact graph they give the index of every axis that can be reached: split backward
/// o·f + n, forward (div, mod); merge forward a·|b| + b, backward (div, mod); resize by its offset.
/// Broadcast axes have index 0. A producer's axes follow from the consumer's axis by axis
/// (`mapAxes`), so that x + transpose(x) reads x at two places.
#pragma once

#include <device_lower/allocation.h>
#include <device_lower/loop_tree.h>

namespace nvfuser {

/// Indices of axes around one statement.
class AxisValues {
 public:
  AxisValues(const IdGraph& exact, Symbols& symbols) : exact_(&exact), symbols_(&symbols) {}
  /// Null where nothing leads to the axis.
  kir::Scalar of(const IterDomain* id) const;
  /// The same, of an axis that the loops were made from.
  kir::Scalar ofLoops(const IterDomain* id) const;
  /// Where a loop around the statement is.
  kir::Scalar ofLoop(const LoopClass* loop) const { return by_loop_.at(loop); }
  /// Whether two ways lead to the axis, and not to one index: a loop may be shared with a tensor
  /// that goes through the same axis otherwise. `of` gives that of the loops, if they lead there.
  bool isAmbiguous(const IterDomain* id) const;
  /// Whether loops over the axes of two tensors lead to the axis, and not to one index. `of` gives
  /// that of its tensor's own loops; of axes made of it, that of either.
  bool isMetTwice(const IterDomain* id) const;

 private:
  friend class Indexer;
  const IdGraph* exact_;
  Symbols* symbols_;
  std::unordered_map<const LoopClass*, kir::Scalar> by_loop_;
  std::vector<kir::Scalar> by_class_;
  std::vector<bool> ambiguous_;         ///< by class
  std::vector<bool> from_loops_;        ///< by class
  std::vector<bool> met_twice_;         ///< by class: of loops over two tensors' axes, which differ
  std::vector<bool> behind_met_twice_;  ///< by class: what such ones were made of
  /// What the statement's own logical axes were made from. Its class may have another index: the
  /// roots of two slices of x are one class, but x is read at two places.
  std::unordered_map<const IterDomain*, kir::Scalar> own_;
  /// Axes whose class is met twice, of the statement's tensor and of those that loops run over: in
  /// x[k] + reshape(x)[i, j] with loops over i·j·k, what is reshaped has loops over i·j, and goes
  /// through x by those. (So it does where x[k, l] is reshaped, and k·l is met twice.)
  std::unordered_map<const IterDomain*, kir::Scalar> own_of_loops_;
};

/// Indices of single axes, where a class would be too coarse.
using AxisIndex = std::unordered_map<const IterDomain*, kir::Scalar>;

class Indexer {
 public:
  Indexer(const IdGraph& exact, LoopModel& loops, Symbols& symbols, Allocations& allocations);

  /// The statement that completes a tensor. Reading requires that it ran at the element that is
  /// read, in the same iteration of the loops that both share.
  void noteWriter(const Leaf& leaf);

  /// From now on statements are indexed as if `loop` were at `index`: a load that runs ahead of its
  /// loop, a member of a group. A null index ends it.
  void shift(const LoopClass* loop, kir::Scalar index);
  /// Where the loop is: its variable, unless it is shifted.
  kir::Scalar iteration(const LoopClass* loop) const;

  /// Indices around a statement; `replaced` gives loops another index than their variable (0 for a
  /// vectorized one).
  AxisValues around(const Leaf& leaf,
                    const std::unordered_map<const LoopClass*, kir::Scalar>& replaced = {}) const;

  /// Indices of the logical axes of `producer`, read by `expr` for `consumer`. Axes read through an
  /// index or dropped (gather, select) are left for the caller to fill in.
  AxisIndex producerAxes(const Expr* expr, const TensorView* producer, const TensorView* consumer,
                         const AxisValues& values) const;
  /// Element that `consumer` reads, given the indices of the producer's logical axes. A `UserError`
  /// where the loops that both share have computed another one.
  kir::Ref read(const TensorView* producer, const TensorView* consumer, AxisIndex logical) const;
  /// Element of its own memory that a statement computing `tv` writes.
  kir::Ref write(const TensorView* tv, const Leaf& leaf, const AxisValues& values,
                 const std::unordered_map<const LoopClass*, kir::Scalar>& replaced = {}) const;
  /// Which stage of a circular buffer the statement works on; 0 where there is one.
  kir::Scalar stage(const TensorView* tv) const;
  /// Row-major index of the element being computed, over the logical domain.
  kir::Scalar logicalElement(const TensorView* tv, const AxisValues& values) const;

 private:
  /// A `UserError` where the loops alone lead to two indices of an axis that is written.
  static void requireOneIndex(const TensorView* tv, const AxisValues& values);
  /// Notes what a class that is met twice was made of, where `reached` has that way back: of x[i,
  /// j] beside reshape(x) the merged i·j may be such, and i and j follow from it.
  void noteBehind(int id_class, const std::vector<const Expr*>& reached, AxisValues& values) const;
  /// Fills in the axes that are met twice, each from its own tensor's loops where those lead there.
  void followOwnLoops(const Leaf& leaf, AxisValues& values) const;
  /// Fills in the roots of a tensor that the statement writes, from its logical axes.
  void followRoots(const TensorView* tv, AxisValues& values) const;
  kir::Scalar offset(const TensorView* tv, const AxisIndex& known) const;
  /// Fills in the axes that the producer's logical axes were made into.
  void followTransforms(const TensorView* producer, AxisIndex& known) const;
  void requireComputed(const TensorView* producer, const TensorView* consumer,
                       const AxisIndex& known) const;
  /// A `UserError` where threads that write shared memory in one iteration have elements of several
  /// of the tensor's own: a loop over the axes of another tensor goes through these otherwise.
  void requireRoom(const TensorView* tv, const AxisIndex& known) const;
  /// Where a tensor is kept as its readers see it: what only one task of the CPU, or the GPU, has
  /// is as good as in registers.
  MemoryType placedIn(const TensorView* tv) const;
  /// Whether an element is there at each index of a broadcast axis that loops go through, not at
  /// the first alone (predicates.h: `isReadAgain`).
  bool storesRepeats(const TensorView* tv) const;
  /// Whether one place in memory serves all indices of an axis, one after the other or one for each
  /// thread.
  bool holdsOneIndex(const TensorView* tv, int position) const;
  kir::Scalar taskBase(const Allocation& allocation) const;
  kir::Scalar stageBase(const TensorView* tv) const;

  const IdGraph& exact_;
  LoopModel& loops_;
  Symbols& symbols_;
  Allocations& allocations_;
  /// By class, the transforms that make it and those that use it. The same one of many tensors,
  /// which a schedule gives the transforms of their neighbours, is in it once.
  std::vector<std::vector<const Expr*>> definitions_;
  std::vector<std::vector<const Expr*>> uses_;
  std::vector<int> broadcasts_;  ///< classes with a broadcast axis that no transform made
  std::unordered_map<const TensorView*, const Leaf*> writer_;
  std::unordered_map<const LoopClass*, kir::Scalar> shifted_;
};

}  // namespace nvfuser
