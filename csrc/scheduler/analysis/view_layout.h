/// Where the elements of a view are: the layout of its source carried through the operations in
/// between.
///
///   source [4, 6] strides [6, 1]; permute, then slice 2…5 of the first axis
///   view   [3, 4] strides [1, 6] offset 2
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <evaluator/expression_evaluator.h>
#include <ir/fusion.h>

namespace nvfuser {

struct ViewLayout {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;  ///< of the first element from the source's, in elements

  friend bool operator==(const ViewLayout&, const ViewLayout&) = default;
};

/// What `expr`, an operation that makes a view (ir/view_ops.h), makes of a tensor that lies like
/// `source`; nothing if strides cannot say it (a reshape that merges axes with a gap in between).
/// Axes of one element have the stride that a dense tensor would have. `evaluator` knows all sizes.
std::optional<ViewLayout> viewLayout(const Expr* expr, const ViewLayout& source,
                                     ExpressionEvaluator& evaluator);

/// Dense in the order of the allocation domain, as computed tensors are; nothing if that is no
/// permutation of the logical axes. Stride 0 along expanded axes.
std::optional<ViewLayout> denseLayout(const TensorView* tv, ExpressionEvaluator& evaluator);

}  // namespace nvfuser
