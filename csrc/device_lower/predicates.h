/// Which conditions a statement needs, and only those: the one predicate rule.
///
/// An index can be out of bounds only through a thread dimension launched larger than its axis and
/// through a split whose factor is not proven to divide its input. For each such place on the way
/// from the loops back to the shapes the condition is index < extent; the pool's proofs remove
/// those that always hold. Lower bounds are never at stake: no loop starts below 0 (pad guards its
/// own read).
///
/// Redundant threads: a tensor in shared or global memory that is not bound to a thread dimension
/// which the kernel uses is written by index 0 of that dimension alone. So is one that shares a
/// thread's loop with a tensor of more axes: where the index of these is 0
/// (`Places::foreign`).
/// (This and redundant iterations: predicates_once.cpp.)
///
/// Redundant iterations: registers may be computed again and again (and so may global memory, where
/// iterations that are shared read it again), but a reduction takes each element once:
///
///   T1[b0, r1] sums in the loop over i0·r1     →     if (i0 == 0) T1 += …
///
/// Threads beyond a loop: what they read is computed by them, too (read_beyond.h).
#pragma once

#include <array>
#include <map>
#include <unordered_set>

#include <device_lower/indexer.h>
#include <device_lower/read_beyond.h>

namespace nvfuser {

class Predicates {
 public:
  /// Without `eliminate` conditions are given also where they are known to hold.
  Predicates(const IdGraph& exact, LoopModel& loops, Symbols& symbols, ReadBeyond read_beyond,
             bool eliminate)
      : exact_(exact),
        loops_(loops),
        symbols_(symbols),
        read_beyond_(std::move(read_beyond)),
        eliminate_(eliminate) {}

  /// A reduction that adds up in memory itself, not in registers: an update is guarded as a store
  /// is.
  void noteSummedInMemory(const TensorView* tv) { summed_in_memory_.insert(tv); }

  struct Bound {
    kir::Scalar index;
    kir::Scalar extent;
  };
  /// What must hold for the element that the statement works on to exist. All of them, also the
  /// proven ones.
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

  /// True where a reduction starts anew. Iterations of a shared loop outside of other tensors' axes
  /// compute nothing; they must leave the sum of those before as it is. (A sum in registers that
  /// each iteration makes anew has none before it: it is made in these as well.)
  kir::Scalar startsInside(const Leaf& leaf, const Places& places) const;
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
  /// Whether the index of a block (of a thread in it) occurs in an expression.
  bool dependsOn(kir::Scalar index, bool blocks) const;
  /// Whether a bound holds for elements of other tensors alone, and the statement has to be carried
  /// out beyond it. A `UserError` for a reduction.
  bool isForOthers(const Bound& bound, const IterDomain* id, const Leaf& leaf) const;

  /// A `UserError` where the first thread, which writes `tv` for all of its block, may be out of
  /// bounds while others are not: the merged axes of other tensors do not only grow along threads.
  void requireFirstInside(const TensorView* tv, const Leaf& leaf, ParallelType type,
                          const Places& places) const;

  /// A `UserError` where threads that have elements of their own come to the same one of `tv` all
  /// the same, at an index of a broadcast axis that blocks have a part in: each block needs the
  /// element in memory of its own, but at no index all of them come by.
  void requireOneWriter(const TensorView* tv, kir::Scalar index) const;

  /// Whether a thread comes to an element again (at an index of a broadcast axis above 0) in
  /// iterations that it shares with who reads the element there. It writes it in each of them: the
  /// loops may come to index 0 last.
  bool isReadAgain(const Leaf& leaf, kir::Scalar index) const;

  const IdGraph& exact_;
  LoopModel& loops_;
  Symbols& symbols_;
  const ReadBeyond read_beyond_;
  const bool eliminate_;
  std::unordered_set<const TensorView*> summed_in_memory_;
  mutable std::map<std::array<int, 4>, bool> divides_;
};

}  // namespace nvfuser
