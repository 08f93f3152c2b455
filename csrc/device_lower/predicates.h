/// Which conditions a statement needs, and only those: the one predicate rule.
///
/// - *Bounds* (bounds.h): the element exists. A split may not divide its axis, and more threads
///   may be launched than an axis has. Bounds that are proven to hold are left out, and so are
///   lower ones: no loop starts below 0 (a pad guards its own read).
///
/// - *Redundant threads*: a tensor in shared or global memory that is not bound to a thread
///   dimension which the kernel uses is written by index 0 of that dimension alone. One that shares
///   a thread's loop with a tensor of more axes is written where the index of these is 0
///   (`Places::foreign`).
///
/// - *Redundant turns*: registers may be computed again and again (and so may global memory, where
///   turns that are shared read it again), but a reduction takes each element once:
///
///     T1[b0, r1] sums in the loop over i0·r1     →     if (i0 == 0) T1 += …
///
/// (The last two: predicates_once.cpp.)
#pragma once

#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <device_lower/bounds.h>
#include <device_lower/indexer.h>

namespace nvfuser {

class Predicates {
 public:
  /// Without `eliminate` conditions are given also where they are known to hold.
  Predicates(const Fusion& fusion, const IdGraph& exact, LoopModel& loops, Symbols& symbols,
             bool eliminate)
      : exact_(exact),
        loops_(loops),
        symbols_(symbols),
        bounds_(fusion, exact, loops, symbols),
        eliminate_(eliminate) {}

  /// A reduction that adds up in memory itself, not in registers: an update is guarded as a store
  /// is.
  void noteSummedInMemory(const TensorView* tv) { summed_in_memory_.insert(tv); }

  struct Bound {
    kir::Scalar index;
    kir::Scalar extent;
  };
  /// What must hold for the statement to run; without what is proven by extents alone.
  std::vector<Bound> bounds(const Leaf& leaf, const Places& places) const {
    return bounds(leaf, places, true);
  }
  /// Conjunction of the bounds that are not proven.
  kir::Scalar inBounds(const Leaf& leaf, const Places& places) const;
  /// True for the threads that write `tv`, which lives in shared or global memory.
  /// (`whole_block`: for a statement that all threads of a block carry out together, true for the
  /// blocks that do. `by_last`: the result of a reduction over blocks, which the last one of them
  /// has, whichever that is, where it is this that writes.)
  kir::Scalar writesOnce(const TensorView* tv, const Leaf& leaf, MemoryType memory,
                         const Places& places, bool whole_block = false,
                         const TensorView* by_last = nullptr) const;

  /// True where a reduction takes the element: of the iterations that share a state, in one alone.
  /// `separate`: loops behind the reduction's first one whose iterations each have a state.
  kir::Scalar takesOnce(const Leaf& leaf, const Indexer& indexer,
                        const std::vector<const LoopClass*>& separate) const;

 private:
  std::vector<Bound> bounds(const Leaf& leaf, const Places& places, bool eliminate) const;
  /// Whether the factor of a split divides its axis; the answer is kept for all splits of these
  /// classes.
  bool divides(const Split* split) const;
  bool provesDivisible(const Split* split) const;
  bool dependsOnBlocks(kir::Scalar index) const;
  /// What the statement writes: registers, where the result of a reduction goes elsewhere later.
  MemoryType memoryOf(const Leaf& leaf) const;
  /// Whether a bound need not be checked: it always holds, or another one of them says the same.
  bool isImplied(const AxisBound& bound, const std::vector<AxisBound>& all) const;

  /// A `UserError` where threads that have elements of their own come to the same one of `tv` all
  /// the same, at an index of a broadcast axis that blocks have a part in: each block needs the
  /// element in memory of its own, but at no index all of them come by.
  void requireOneWriter(const TensorView* tv, const LoopAxis& axis, MemoryType memory) const;

  const IdGraph& exact_;
  LoopModel& loops_;
  Symbols& symbols_;
  mutable Bounds bounds_;
  const bool eliminate_;
  std::unordered_set<const TensorView*> summed_in_memory_;
  mutable std::map<std::array<int, 4>, bool> divides_;
};

}  // namespace nvfuser
