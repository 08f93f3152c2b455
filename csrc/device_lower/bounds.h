/// Which bounds guard a statement (docs/math/places.md, "Who asks for a bound").
///
/// Those of its own axes: beyond them the element does not exist. Beyond the bound of a foreign
/// axis it does, and computing it once more is right wherever its operands are there. So such a
/// bound is a choice, made for two reasons only:
///
/// - memory that several threads come to is written by one of them, where the foreign index is 0;
/// - where all readers of a value ask for a bound, no reader misses the value beyond it, and one
/// `if`
///   serves the statement and its readers.
///
///   T1[b0, i1] = …           loops (i0·i1) / 4, 4      if (k0·4 + k1 < |i0|·|i1|) {
///   T2[i0, i1] = x + T1                                  T1 = …;  T2 = x + T1 }
///
///   T1[b0] = …    loop blockIdx.x over i0, of which more are launched     T1 = …
///   T2[i0] = T1   in the same loop                                        if (…) T2 = T1
///   T3[]   = T1   outside of it: each block reads T1                      T3 = T1
///
/// A reduction or scan makes no such choice: it starts anew in each turn, or takes an element where
/// the foreign index is 0 (`Predicates::takesOnce`).
#pragma once

#include <map>

#include <device_lower/loop_tree.h>
#include <iteration_space/held_by_few.h>
#include <iteration_space/places.h>

namespace nvfuser {

class Bounds {
 public:
  Bounds(const Fusion& fusion, const IdGraph& exact, LoopModel& loops, Symbols& symbols);

  /// Of a statement, in terms of its loops' variables: those of threads in front, then from the
  /// innermost loop outward. `memory`: what it writes.
  const std::vector<AxisBound>& of(const Leaf& leaf, MemoryType memory);

 private:
  bool mayHaveForeign(const Leaf& leaf) const;
  std::vector<AxisBound> find(const Leaf& leaf, MemoryType memory);
  /// Whether the statement itself needs a bound of a foreign axis, whether its readers ask or not.
  bool isNeeded(const Leaf& leaf, const LoopAxis& axis, const AxisBound& bound,
                MemoryType memory) const;
  /// Whether threads (blocks) that come to an element of `tv` at several indices of the axis share
  /// the memory that it is in.
  bool isSharedAlong(const TensorView* tv, const LoopAxis& axis, MemoryType memory) const;
  /// Bounds that all readers ask for, in the turn in which the element is computed; `foreign`: of
  /// the statement's own walk.
  void addOfReaders(const Leaf& leaf, const std::vector<AxisBound>& foreign,
                    std::vector<AxisBound>& bounds);
  /// Whether the readers are in the same turn as the statement of all loops that the bound is made
  /// of.
  bool isInTurn(const Leaf& leaf, const AxisBound& bound, MemoryType memory) const;

  const IdGraph& exact_;
  LoopModel& loops_;
  Symbols& symbols_;
  const HeldByFew held_by_few_;
  /// By expression, role and tensor.
  std::map<std::tuple<const Expr*, LeafRole, const TensorView*>, std::vector<AxisBound>> found_;
};

}  // namespace nvfuser
