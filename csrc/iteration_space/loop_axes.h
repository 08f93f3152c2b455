/// What a set of loops goes through: axes that they were made from, by undoing transforms.
///
/// The loops are the first such set. Each split, merge or swizzle whose results are all there can
/// be undone, and gives another set, of which each turn of the loops is at exactly one index:
///
///   loops (i0·i1) / 4, 4   →   i0·i1   →   i0, i1
///
/// Not each turn is inside of these axes: a split may not divide its axis, and more threads may be
/// launched than an axis has. So each axis carries its *bounds*, the conditions that fail only in
/// turns that are beyond it, or come to one of its indices once more:
///
///   loops (i0·i1) / 4, 4   →   i0·i1, with k0·4 + k1 < |i0|·|i1|   →   i0, with the same bound; i1
///
/// The remainder by |i1| is always inside of i1: what is beyond i0·i1 is beyond i0.
#pragma once

#include <set>
#include <vector>

#include <iteration_space/loop_model.h>

namespace nvfuser {

/// What must hold for a turn to be inside of an axis: index < extent.
struct AxisBound {
  const IterDomain* id = nullptr;  ///< the axis, of the loops
  kir::Scalar index = nullptr;
  kir::Scalar extent = nullptr;
  const Split* split = nullptr;     ///< whose parts may reach beyond it, or
  const LoopClass* loop = nullptr;  ///< of which more threads or blocks may be launched
  /// The split that the axis is the outer part of: o·f + n < |in| says o < ceilDiv(|in|, f).
  const Split* implied_by = nullptr;
  std::vector<const LoopClass*> loops = {};  ///< that the index is made of
};

struct LoopAxis {
  const IterDomain* id = nullptr;   ///< the axis, of the tensor that the loop runs over
  const IterDomain* own = nullptr;  ///< the statement's axis in its place; null where it has none
  std::vector<const LoopClass*> loops = {};  ///< that its index is made of
  kir::Scalar index = nullptr;
  std::vector<AxisBound> bounds = {};
};

/// Undoes a transform. `made`: where in `axes` its results are. `own`: the statement's transform in
/// its place, or null.
void undoTransform(const Expr* expr, const std::vector<size_t>& made, const Expr* own,
                   Symbols& symbols, std::vector<LoopAxis>& axes);

/// Undoes transforms until axes of all these classes are there; where a class was made in several
/// ways, by reshapes, each is tried. False, and no change, where no way leads to them.
bool undoUntil(const std::set<int>& classes, const IdGraph& exact, Symbols& symbols,
               std::vector<LoopAxis>& axes);

}  // namespace nvfuser
