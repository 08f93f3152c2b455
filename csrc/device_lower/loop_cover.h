/// What a set of loops iterates over, found by undoing the schedule.
///
/// What: from the promoted axes of the loops backward, each split and merge is undone once all of
/// its outputs are there, until the wanted axes are. Then the loops visit each element of these
/// axes; what else is left are axes that the loops iterate besides.
///
///   loops (i0·i1) div 4, (i0·i1) mod 4     wanted: i1  →  found i1, besides i0
///   loops (i0·i1) div 4, i1 mod 4          wanted: i1  →  not covered: no element is visited for
///                                                        sure
///
/// Why: a tensor may share loops that run over more than its own axes (loop promotion,
/// loop_model.h). Whoever writes memory, or adds to a sum, in such loops must do so once for each
/// element.
///
/// It says nothing about extents: a split that does not divide visits indices outside, which
/// predicates.h excludes.
///
/// An axis may be there twice, as of x[k] + reshape(x)[i, j] the merged i·j is one class with k. Of
/// the two, that of `tv`'s own loops is the wanted one; the other is iterated besides, and its
/// index is what its own loops say, not what the class has around a statement.
#pragma once

#include <device_lower/loop_model.h>

namespace nvfuser {

struct LoopCover {
  struct Axis {
    const IterDomain* id = nullptr;
    std::vector<const LoopClass*> loops;  ///< that its index is made of
    kir::Scalar index = nullptr;          ///< made of theirs, where those were given
  };
  /// Null if all wanted axes are visited; else one that is not.
  const IterDomain* missing = nullptr;
  /// Iterated besides the wanted ones.
  std::vector<Axis> besides;
};

/// Wanted are the axes of `tv`'s logical domain, without reductions unless `reductions`.
/// Broadcast axes and axes of constant extent 1 have one element and need no loop.
LoopCover coverOf(const TensorView* tv, const std::vector<const LoopClass*>& loops, bool reductions,
                  const IdGraph& exact);
/// The same, given what the loops run over, and with `symbols` at which indices.
LoopCover coverOf(const TensorView* tv, std::vector<LoopCover::Axis> iterated, bool reductions,
                  const IdGraph& exact, Symbols* symbols = nullptr);

/// Whether each loop is one over an axis of `tv` itself, so that nothing but its broadcast axes is
/// iterated besides.
bool ownLoops(const TensorView* tv, const std::vector<const LoopClass*>& loops,
              const IdGraph& exact);

}  // namespace nvfuser
