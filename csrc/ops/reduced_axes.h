/// The set of axes that a normalisation reduces, and the steps that all normalisations share.
#pragma once

#include <string_view>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser::ops {

/// `x` in the dtype that statistics are computed in: Float for reduced precision, integers and
/// Bool.
TensorView* inComputeType(TensorView* x);

/// Some axes of tensors of one rank.
class ReducedAxes {
 public:
  /// `dims` count from either end; none: all axes. Errors name `op`.
  ReducedAxes(const TensorView* x, const std::vector<int64_t>& dims, std::string_view op);
  /// All axes but `kept` (positions from the front).
  static ReducedAxes allBut(const TensorView* x, const std::vector<int64_t>& kept,
                            std::string_view op);

  const std::vector<int64_t>& positions() const { return positions_; }
  /// The sum over the axes, without them.
  TensorView* sumOf(TensorView* x) const;
  /// The sum over the axes, which stay with extent 1; likewise the mean.
  TensorView* keptSumOf(TensorView* x) const { return keep(sumOf(x)); }
  TensorView* keptMeanOf(TensorView* x) const { return keep(meanOf(x)); }
  TensorView* meanOf(TensorView* x) const;
  /// A reduced tensor with the axes put back, with extent 1.
  TensorView* keep(TensorView* reduced) const;
  /// Number of elements that are reduced to one, less `correction` but at least 0, as a scalar of
  /// `dtype`.
  Val* count(DataType dtype, int64_t correction = 0) const;

 private:
  ReducedAxes() = default;
  std::vector<int64_t> positions_;
  std::vector<bool> is_reduced_;
  Val* extent_ = nullptr;
};

}  // namespace nvfuser::ops
