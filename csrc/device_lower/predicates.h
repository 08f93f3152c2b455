/// Which conditions a statement needs, and only those: the one predicate rule.
///
/// An index can be out of bounds only through a thread dimension launched larger than its axis and
/// through a split whose factor is not proven to divide its input. For each such place on the way
/// from the loops back to the shapes the condition is index < extent; the pool's proofs remove
/// those that always hold. Lower bounds are never at stake: no loop starts below 0 (pad guards its
/// own read).
///
/// Redundant threads: a tensor in shared or global memory that is not bound to a thread dimension
/// which the kernel uses is written by index 0 of that dimension alone.
#pragma once

#include <device_lower/indexer.h>

namespace nvfuser {

class Predicates {
 public:
  /// Without `eliminate` conditions are given also where they are known to hold.
  Predicates(const IdGraph& exact, LoopModel& loops, Symbols& symbols, bool eliminate)
      : exact_(exact), loops_(loops), symbols_(symbols), eliminate_(eliminate) {}

  struct Bound {
    kir::Scalar index;
    kir::Scalar extent;
  };
  /// What must hold for the element that the statement works on to exist. All of them, also the
  /// proven ones.
  std::vector<Bound> bounds(const Leaf& leaf, const AxisValues& values) const {
    return bounds(leaf, values, true);
  }
  /// Conjunction of the bounds that are not proven.
  kir::Scalar inBounds(const Leaf& leaf, const AxisValues& values) const;
  /// True for the threads that write `tv`, which lives in shared or global memory.
  /// (`whole_block`: for a statement that all threads of a block carry out together, true for the
  /// blocks that do.)
  kir::Scalar writesOnce(const TensorView* tv, const Leaf& leaf, MemoryType memory,
                         bool whole_block = false) const;

 private:
  std::vector<Bound> bounds(const Leaf& leaf, const AxisValues& values, bool eliminate) const;
  bool divides(const Split* split) const;

  const IdGraph& exact_;
  LoopModel& loops_;
  Symbols& symbols_;
  const bool eliminate_;
};

}  // namespace nvfuser
