/// Copies axes with the transforms between them: for a tensor that takes over another's domain
/// (caches, rFactor).
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include <ir/internal_nodes.h>

namespace nvfuser {

class AxisCopier {
 public:
  /// `copy` takes the place of `original` from here on.
  void map(const IterDomain* original, IterDomain* copy) { copies_[original] = copy; }
  bool has(const IterDomain* original) const { return copies_.count(original) != 0; }
  /// The copy of an axis; an equal one is made (bindings included) where there is none yet.
  IterDomain* copyOf(const IterDomain* original);
  std::vector<IterDomain*> copiesOf(const std::vector<IterDomain*>& originals);
  /// Does one transform again on the copies of its inputs.
  void replay(const Expr* transform);
  /// Does again all transforms between `stop` and `ends`; the copies of `ends`.
  std::vector<IterDomain*> replayTo(const std::vector<IterDomain*>& ends,
                                    const std::vector<IterDomain*>& stop);
  /// The copies of a domain's additional axes stand for the same axes as the originals.
  std::vector<IterDomain*> copyAdditional(const TensorDomain* original);
  /// The originals are about to go: what stands for one of them in other tensors stands for its
  /// copy from here on.
  void takeOver(Fusion* fusion);
  /// How copies of axes are made; unless set, they equal the original.
  std::function<IterDomain*(const IterDomain*)> make;

 private:
  std::unordered_map<const IterDomain*, IterDomain*> copies_;
};

/// A tensor in registers, without a definition yet, that may take the result of the operation that
/// `tv` is the result of: it has axes like those of `tv` without reductions, those that a reshape
/// makes them from included.
TensorView* computedLike(const TensorView* tv);

}  // namespace nvfuser
