/// Tensors as they are in front of a reshape: what is computed element by element behind it,
/// computed on the axes that its operand has.
///
///   T1[8, 32, 4, 64] = reshape(T0[8, 128, 64])
///   T2[8, 32, 4, 64] = T1 * T9[8, 32, 1, 1]       of(T2):    T0 * T10[8, 128, 1]
///
///   T10: T9 stretched over the 4 and reshaped, a few elements
///
/// The way back leads over pointwise operations, constants and copies, up to reshapes from the same
/// sizes, and to tensors that are the same all along the axes of one group (ops/reshape_plan.h) at
/// least.
#pragma once

#include <map>
#include <vector>

#include <ir/fusion.h>
#include <ops/reshape_plan.h>

namespace nvfuser::preseg_passes {

class BeforeReshape {
 public:
  /// The axes of `before` in place of those of `behind`.
  BeforeReshape(const TensorView* before, const TensorView* behind);

  const std::vector<ops::AxisGroup>& groups() const { return groups_; }

  /// `tv`, which has the sizes of `behind`, with those of `before`; null where there is no way, or
  /// after 48 operations.
  TensorView* of(TensorView* tv);
  /// The reshapes' results that what was asked for goes back to.
  const std::vector<const TensorView*>& reached() const { return reached_; }

 private:
  TensorView* computed(TensorView* tv);
  TensorView* regrouped(TensorView* tv);
  bool isTaken() { return --left_ >= 0; }

  std::vector<Val*> before_;
  std::vector<Val*> behind_;
  std::vector<ops::AxisGroup> groups_;  ///< old axes: before
  int64_t left_;
  std::vector<const TensorView*> reached_;
  std::map<const TensorView*, TensorView*> made_;
};

/// Axis by axis the same extent, or the same constant.
bool sameSizes(const std::vector<Val*>& a, const std::vector<Val*>& b);
std::vector<Val*> shownSizes(const TensorView* tv);

}  // namespace nvfuser::preseg_passes
