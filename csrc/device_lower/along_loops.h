/// A tensor's axes beside those that its loops run over.
///
/// What: the loops of an inlined tensor run over axes of the tensor it is inlined into. Both were
/// made by the same transforms, as one schedule was replayed on the other, so that going back in
/// both at once says which axis of the one is which of the other.
///
///   loops of T7[f, i, j], merged to (f·i)·j     T1[f], merged to (f·b)·b     →  f of T1 is f of T7
///
/// Why: classes of the exact graph do not tell two axes of T7 apart that are one class, as f and
/// i·j are in x[i, j] + reshape(x)[f].
#pragma once

#include <utility>
#include <vector>

#include <device_lower/loop_model.h>

namespace nvfuser {

/// A tensor's own axis, and what it is in the loops.
using OwnAndLoop = std::pair<const IterDomain*, const IterDomain*>;

struct AlongLoops {
  /// A transform that is undone, and what of the loops' axes is its result.
  struct Undone {
    const Expr* expr;
    std::vector<const IterDomain*> made;
  };
  /// From the loops backward, as far as the transforms are the same. (The two of a pair need not
  /// have one extent: f·b is f·i above.) What is of one class has one way back, the tensor's own.
  std::vector<OwnAndLoop> axes;
  /// In this order; none of those that made the tensor's logical axes.
  std::vector<Undone> schedule;
};

/// `begin`: the axes that loops run over, each beside the tensor's own (null where it has none).
AlongLoops alongLoops(const TensorView* tv, std::vector<OwnAndLoop> begin, const IdGraph& exact);

/// The tensor's own axis in a loop around it; null outside of its loops.
const IterDomain* ownAxis(const TensorView* tv, const LoopClass& loop);

}  // namespace nvfuser
