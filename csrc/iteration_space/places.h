/// Where a statement is: the index of each axis of its tensors, in its own loops.
///
/// A statement has a loop for each axis of its tensor's loop domain, but the loop may run over
/// more: it is shared with a tensor that has other axes merged in (loop promotion, loop_model.h).
/// One walk backward undoes the tensor's transforms, and beside each of them what the loops' axis
/// there was made by. So each own axis stands beside an axis of the loops:
///
///   T1[b0, i1], loop b0·i1        T3[i0, i1], loop i0·i1, which both share
///
///   own axis    loops' axis       what it is
///   b0·i1       i0·i1             own and foreign: the walk goes on
///   b0          i0                b0 is broadcast: i0 is foreign to T1
///   i1          i1                own: the index of T1's i1 is (loop mod |i1|)
///
/// - An axis is the statement's *own* where the loops' axis beside it is as long: of one class, or
///   of one extent. The statement is then at each of its indices once, whatever the loops' axis
///   means to others. (Whether the element that a consumer reads was computed in the same turn is
///   asked of both places, reads.h.)
/// - What is left of the loops is *foreign*: the statement has nothing that changes along it, and
///   is at one element again at each of its indices.
/// - An axis that the walk does not meet is searched among the axes that the loops were made from
///   (loop_axes.h). Where it is not there, the loops do not cover it.
/// - Each own and each foreign axis has its *bounds*: what the splits that were undone may reach
///   beyond. The element exists where those of the own axes hold.
///
/// docs/math/places.md proves that each element is met exactly once where bounds hold and foreign
/// indices are 0.
///
/// What it does not do: say which of the threads writes an element (predicates.h), or where the
/// element is in memory (indexer.h).
#pragma once

#include <map>

#include <iteration_space/loop_axes.h>

namespace nvfuser {

/// A loop around a statement.
struct LoopAt {
  const LoopClass* loop = nullptr;
  const IterDomain* over = nullptr;  ///< what it runs over
  kir::Scalar index = nullptr;
};

class Places {
 public:
  /// `tensors`: what the statement writes, of one loop domain. `loops`: outermost first.
  Places(const std::vector<const TensorView*>& tensors, std::vector<LoopAt> loops,
         const IdGraph& exact, Symbols& symbols);

  /// Index of an axis of the statement's tensors; null where the loops do not lead to it.
  kir::Scalar index(const IterDomain* own) const;
  /// Index of an axis that the loops were made from; null where some of its parts have no loop
  /// here.
  kir::Scalar indexInLoops(const IterDomain* id) const;

  /// Of an axis of another tensor: the index that all axes of its class have here, or null.
  kir::Scalar indexOfClass(const IterDomain* id) const;
  /// Whether the loops go through its class: at another index than 0.
  bool isGoneThrough(const IterDomain* id) const;

  /// What the loops go through besides the axes of `tv`, its reductions counted with `reductions`.
  const std::vector<LoopAxis>& foreign(const TensorView* tv, bool reductions) const;
  /// The bounds of the axes of `tv`: where they hold, the element exists.
  std::vector<AxisBound> bounds(const TensorView* tv, bool reductions) const;
  /// Whether two indices are equal in all turns in which the bounds of the axes of `tv` hold. False
  /// means "not proven", or that one is null.
  bool areEqual(kir::Scalar a, kir::Scalar b, const TensorView* tv) const;
  /// A scalar of the loops' variables, at the indices that the loops have here.
  kir::Scalar here(kir::Scalar a) const;
  /// An axis of `tv` that the loops do not go through, or null. Broadcast axes and those of one
  /// element need no loop.
  const IterDomain* uncovered(const TensorView* tv, bool reductions) const;

 private:
  struct Cover {
    const IterDomain* uncovered = nullptr;
    std::vector<LoopAxis> own;
    std::vector<LoopAxis> foreign;
  };
  void walkLoops(const IdGraph& exact);
  void walkOwn(const TensorView* tv);
  /// Undoes the tensor's schedule.
  std::vector<LoopAxis> logicalAxes(const TensorView* tv);
  const Cover& cover(const TensorView* tv, bool reductions) const;
  Cover findCover(const TensorView* tv, bool reductions) const;
  /// Of splits that the logical axes were made by (rFactor).
  std::vector<AxisBound> boundsOfRoot(const TensorView* tv) const;
  /// Indices of what follows from the logical axes: what they were made from, and made into.
  void fillIn(const TensorView* tv);
  /// Whether the loops' axis is of the class of the own one.
  bool isMapped(const LoopAxis& axis) const;
  /// Whether it stands for the own one, a logical axis: it is as long.
  bool isOwn(const LoopAxis& axis) const;
  /// What to undo beside a transform of the statement's tensor; null where the loops' axes were
  /// made by another.
  const Expr* beside(const Expr* own, const std::vector<size_t>& made,
                     const std::vector<LoopAxis>& axes) const;
  void note(const LoopAxis& axis);
  void noteClass(const IterDomain* id, kir::Scalar index);

  const IdGraph* exact_;
  Symbols* symbols_;
  std::vector<LoopAt> loops_;
  std::unordered_map<const IterDomain*, kir::Scalar> own_;
  std::unordered_map<const IterDomain*, kir::Scalar> in_loops_;
  /// By class: the first index from the loops.
  std::unordered_map<int, kir::Scalar> class_in_loops_;
  /// By class: the one index; null where there are several.
  std::unordered_map<int, kir::Scalar> by_class_;
  std::unordered_map<const TensorView*, std::vector<LoopAxis>> axes_;
  mutable std::map<std::pair<const TensorView*, bool>, Cover> covers_;
};

/// Places of the statement that reads what `expr` reads, in all loops of what it computes.
Places placesOf(const Expr* expr, const LoopModel& loops, const IdGraph& exact, Symbols& symbols);

/// Places of the statement that stores `tv`. The result of a reduction is stored outside of its
/// loops, behind the first of them in loops of its own (loop_tree.h).
Places storedAt(const TensorView* tv, const LoopModel& loops, const IdGraph& exact,
                Symbols& symbols);

/// The tensor's own axis in a loop around it; null outside of its loops.
const IterDomain* ownAxis(const TensorView* tv, const LoopClass& loop);

/// Whether each loop is one over an axis of `tv` itself, so that nothing is foreign but its
/// broadcast axes.
bool areOwn(const TensorView* tv, const std::vector<const LoopClass*>& loops, const IdGraph& exact);

}  // namespace nvfuser
