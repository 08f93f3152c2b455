/// Axes of operations that change shapes: the pieces that broadcast, reshape, slice and their kin
/// are made of.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser::ops {

/// Throws `UserError` (naming `op`) for a null operand.
void requireTensor(const TensorView* tv, std::string_view op);
/// Throws `UserError` unless `v`, the operand `name` of `op`, is a scalar.
void requireScalar(const Val* v, std::string_view name, std::string_view op);
/// The same for operations that order numbers or take them for real ones. Throws `UserError` for a
/// complex tensor.
void requireReal(const TensorView* tv, std::string_view op);

/// "T0 of shape [3, i2] and dtype float".
std::string describe(const TensorView* tv);

/// The logical axes that an operation on `tv` sees: all but reductions.
std::vector<IterDomain*> axesOf(const TensorView* tv);
/// Positions of the reduced axes among those of a reduction's operand. `out`: its result.
std::vector<int64_t> reducedAxes(const TensorView* out);
/// Fresh copies of `axesOf`, as a new tensor's axes. Anything that is not broadcast or Symbolic is
/// iterated.
std::vector<IterDomain*> freshAxes(const TensorView* tv);

/// A fresh axis: broadcast for the constant 1, `iterTypeOf` the extent otherwise.
IterDomain* newAxis(Val* extent);
/// The same without broadcast: a constant 1 is iterated once.
IterDomain* newIterAxis(Val* extent);
/// A fresh broadcast axis, expanded where `expanded_extent` is given.
IterDomain* newBroadcastAxis(Val* expanded_extent = nullptr);
/// A fresh axis with the elements that `id` shows: a stretched one is written out.
IterDomain* newOwnAxis(const IterDomain* id);
/// The axis that `in` (a root axis) becomes when `left` and `right` elements are added at its ends.
/// `extent` is |in| + left + right, which the caller often knows in a simpler form.
IterDomain* resizeAxis(IterDomain* in, Val* left, Val* right, Val* extent, int64_t step = 1);

/// A tensor of these axes, row-major without gaps. `root` where the operation makes other axes than
/// the logical ones.
TensorView* newTensor(std::vector<IterDomain*> logical, DataType dtype);
TensorView* newTensor(std::vector<IterDomain*> root, std::vector<IterDomain*> logical,
                      DataType dtype);

/// The value of a constant integer scalar.
std::optional<int64_t> constantOf(const Val* val);
Val* indexConstant(int64_t value);
/// The extent of an axis as it appears (an expanded broadcast axis: what it pretends to have).
inline Val* extentOf(const IterDomain* id) { return id->getMaybeExpandedExtent(); }
/// What the axes of `tv` are as long as. An axis of a result has the extent of its first operand's;
/// where others meet it, which may be longer by stretching it, that is told apart here:
///
///   T2[i0] = T0[i0] + T1[i2]     sizesOf(T2): where(i0 == 1, i2, i0)
std::vector<Val*> sizesOf(const TensorView* tv);
/// Whether an axis has one element for certain and is not stretched.
bool isUnitAxis(const IterDomain* id);

/// `tv`, with the broadcast axes that `which` flags iterated over `extentOf` them (RepeatOp).
/// Itself if there are none.
TensorView* materialize(TensorView* tv, const std::vector<bool>& which);
/// `tv` without its i-th axis, which has one element: squeezed if broadcast, else read at index 0.
TensorView* dropUnitAxis(TensorView* tv, size_t axis);
/// `tv` with its i-th axis, which has one element, turned into a broadcast axis, so that it goes
/// with any other axis.
TensorView* asBroadcast(TensorView* tv, size_t axis);

}  // namespace nvfuser::ops
