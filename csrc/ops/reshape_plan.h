/// How a reshape maps axes: into the smallest groups of consecutive axes, old and new, that hold
/// the same elements.
///
///   [b, s, 768] → [b, s, 12, 64]:   [b]→[b]   [s]→[s]   [768]→[12, 64]
///   [b, s, 768] → [-1, 768]:        [b, s]→[-1]   [768]→[768]
///
/// A group of one old and one new axis leaves the axis alone; any other is merged and split.
#pragma once

#include <cstdint>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser::ops {

/// Old axes old_begin … old_end − 1 become new axes new_begin … new_end − 1.
struct AxisGroup {
  size_t old_begin;
  size_t old_end;
  size_t new_begin;
  size_t new_end;

  bool keeps() const { return old_end - old_begin == 1 && new_end - new_begin == 1; }
  friend bool operator==(const AxisGroup&, const AxisGroup&) = default;
};

/// Groups, from the left, of the reshape from sizes `from` to sizes `to`; null in `to` (at most
/// once) is what is left. Constants are positive and not 1. Borders are put where they follow from
/// equal scalars and from products of constants; the rest is one group. One side of a group is
/// empty only if that side has no axis at all. Throws `UserError` where constants alone show that
/// the numbers of elements differ.
std::vector<AxisGroup> groupAxes(const std::vector<Val*>& from, const std::vector<Val*>& to);

/// One step on a list of axes: `Merge` joins positions i and i + 1, `Split` cuts position i into
/// (outer, factor).
struct ReshapeStep {
  enum class Kind : uint8_t { Merge, Split };
  Kind kind;
  size_t position;
  int64_t factor = 0;
  friend bool operator==(const ReshapeStep&, const ReshapeStep&) = default;
};

/// Steps from constant sizes to constant sizes with the same product, few of them: a size that
/// divides is split off or joined without merging everything first ([4, 6] → [2, 12] splits 4 and
/// merges 2·6).
std::vector<ReshapeStep> constantSteps(std::vector<int64_t> from, const std::vector<int64_t>& to);

/// `x` with the axes of each group merged, then split by `sizes` (ReshapeOp), of which one of each
/// group may be null: what is left. The groups cover all axes. That the sizes fit is the caller's
/// matter.
TensorView* regroup(TensorView* x, const std::vector<AxisGroup>& groups,
                    const std::vector<Val*>& sizes);

}  // namespace nvfuser::ops
