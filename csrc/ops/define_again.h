/// Operations that are defined once more when sizes are settled (settling/): their operands may
/// have other kinds of axes than before, and sizes that were symbols may be the constants 0 and 1.
/// What the user's own call checked is not checked again.
#pragma once

#include <vector>

#include <ir/interface_nodes.h>
#include <ir/internal_nodes.h>

namespace nvfuser::ops {

/// Elements of one axis, start + i·step for 0 ≤ i < length. All of them lie within it, and stop is
/// start + length·step.
struct Range {
  Val* start;
  Val* stop;
  Val* length;
  bool whole;  ///< nothing is cut
  int64_t step = 1;
};

/// The ranges of `x`, one for each axis. Axes of which one element is left (a length of the
/// constant 1) are broadcast axes.
TensorView* cutTo(TensorView* x, const std::vector<Range>& ranges);
/// The ranges by which a slice was defined.
std::vector<Range> rangesOf(const SliceOp* op);

/// What is added at the ends of one axis, and the extent after it. Null: nothing.
struct Margin {
  Val* left = nullptr;
  Val* right = nullptr;
  Val* extent = nullptr;
};

/// `value`, a scalar of the dtype of `x`, around it. An axis that ends with one element stays
/// iterated.
TensorView* padTo(TensorView* x, const std::vector<Margin>& margins, Val* value);

/// The elements of `x` in row-major order, as a tensor of these sizes.
TensorView* reshapeTo(TensorView* x, const std::vector<Val*>& sizes);

}  // namespace nvfuser::ops
