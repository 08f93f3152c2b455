/// What a set of loops goes through: axes that they were made from, by undoing transforms.
///
/// The loops are the first such set. Each split, merge or swizzle whose results are all there can
/// be undone, and gives another set, of which each turn of the loops is at exactly one index:
///
///   loops (i0·i1) / 4, 4   →   i0·i1   →   i0, i1
///
/// It says nothing about extents: a split that does not divide visits indices outside, which a
/// guard excludes (device_lower/predicates.h).
#pragma once

#include <set>
#include <vector>

#include <iteration_space/loop_model.h>

namespace nvfuser {

struct LoopAxis {
  const IterDomain* id = nullptr;   ///< the axis, of the tensor that the loop runs over
  const IterDomain* own = nullptr;  ///< the statement's axis in its place; null where it has none
  std::vector<const LoopClass*> loops = {};  ///< that its index is made of
  kir::Scalar index = nullptr;
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
