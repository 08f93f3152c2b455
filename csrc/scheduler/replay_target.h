/// The tensor that loops are replayed on: which of its transforms belong to its operation, which of
/// its axes are left for others, and what undoing a reshape of its operation gives back.
///
///   T3[n, h, d] = reshape(T1[n, k]), for a loop of T1 along k:
///   the split of k into h and d is fixed, so k is taken; restored(k) is the merge of h and d
///
/// It knows nothing of the reference: replay_loop.cpp says what is asked for.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser {

class Merge;
class Split;

class ReplayTarget {
 public:
  /// With `may_create` false, only transforms that it has already undo its reshape.
  ReplayTarget(const TensorView* tv, bool may_create);

  /// Transforms of an axis, those of its operation among them.
  const std::vector<Expr*>& usesOf(const IterDomain* id) const;
  /// The axis itself, or what a slice or pad of the target's operation makes of it.
  IterDomain* throughResizes(IterDomain* id) const;
  bool isConsumed(const IterDomain* id) const { return consumed_.count(id) != 0; }
  /// Whether the operation or a replayed transform took the axis.
  bool isTaken(const IterDomain* id) const { return fixedUse(id) != nullptr || isConsumed(id); }
  /// A transform that equals a replayed one takes its axes.
  void take(const Expr* transform);
  /// The axis itself, or if the target's reshape merges or splits it, the axis that undoing this
  /// gives back (restoredAxes).
  IterDomain* restored(IterDomain* id);
  /// The target's transforms that equal replayed ones or undo its reshape, producers first.
  const std::vector<const Expr*>& used() const { return used_; }

 private:
  const Expr* fixedUse(const IterDomain* id) const;
  void joinAgain(const Split* split);
  void takeApartAgain(const Merge* merge);

  const bool may_create_;
  std::unordered_set<const Expr*> fixed_;  ///< of its operation
  std::unordered_map<const IterDomain*, std::vector<Expr*>> uses_;
  std::unordered_set<const IterDomain*> consumed_;  ///< that a replayed transform took
  /// What the target's reshape took, and the axis that is it again.
  std::unordered_map<const IterDomain*, IterDomain*> restored_;
  std::vector<const Expr*> used_;
};

}  // namespace nvfuser
