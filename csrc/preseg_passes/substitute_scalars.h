/// Exchanges scalars of a Fusion for others of the same value: in the operands of its expressions
/// and in the extents of its axes, also where they are part of a computed size.
///
///   i0 → 1:    T1[i0, max(i0 - 1, 0)]   becomes   T1[1, 0]
///
/// Attributes of expressions are left alone.
#pragma once

#include <unordered_map>

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

class ScalarSubstitution {
 public:
  /// `new_of`: what each of them becomes, in the same dtype.
  ScalarSubstitution(Fusion& fusion, std::unordered_map<const Val*, Val*> new_of)
      : fusion_(fusion), new_of_(std::move(new_of)) {}

  /// Everything that leads to an output, and all axes. Needs a `FusionGuard`.
  void apply();
  /// The scalar with its parts exchanged; itself if it has none of them.
  Val* of(Val* val);

 private:
  void operands(Expr* expr);
  void axes(TensorView* tv);
  void transform(const Expr* expr, const std::unordered_map<const Val*, IterDomain*>& fresh);
  Val* computed(Val* val, const Expr* def);

  Fusion& fusion_;
  std::unordered_map<const Val*, Val*> new_of_;
};

}  // namespace nvfuser::preseg_passes
