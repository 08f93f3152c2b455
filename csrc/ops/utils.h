/// How an operation's output gets its axes and dtype from its operands. (A public header of this
/// name; each function serves the definition of operations alone.)
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <ir/interface_nodes.h>
#include <ir/op_types.h>

namespace nvfuser::ops {

/// An integer constant of dtype Int from any constant integer scalar; other scalars are returned as
/// they are.
Val* simplifiedInt(Val* val);
/// The extent that two corresponding axes have together: constants before symbols. Throws
/// `UserError` if both are constants and differ.
Val* promoteSize(Val* v1, Val* v2);
/// A symbolic scalar of the dtype.
Val* newScalar(ValType vtype, DataType dtype);
/// The kind of axis that results where two meet: anything but Broadcast wins over Broadcast,
/// Iteration over Symbolic, GatherScatter and VectorComponent.
IterType promoteIterType(IterType type1, IterType type2);

/// A fresh axis for axes that correspond by position in the operands `input_ids` (not empty):
/// broadcast if all are, expanded if any is; otherwise `iterTypeOf` the common extent.
/// `force_iter_type` overrides the kind. `what` names operation and axis.
IterDomain* newOutputIterDomain(const std::vector<IterDomain*>& input_ids,
                                std::optional<IterType> force_iter_type = std::nullopt,
                                std::string_view what = "operation");
/// Fresh axes for tensors among `vals`, whose ranks (without reductions) must agree. `op` names the
/// operation.
std::vector<IterDomain*> newOutputDomain(const std::vector<Val*>& vals,
                                         std::string_view op = "operation");
TensorView* newOutputTV(const std::vector<Val*>& vals, DataType dtype,
                        std::string_view op = "operation");
/// A fresh serial copy of an axis without history; reduction flags and kind as given by `iter_type`
/// if set.
IterDomain* newAxisLike(const IterDomain* id, std::optional<IterType> iter_type = std::nullopt);

/// A new value shaped like `val`: a tensor for a tensor, else a symbolic scalar.
Val* newValLike(Val* val, DataType dtype);
TensorView* newValLike(TensorView* val, DataType dtype);

/// Leading broadcast axes up to `rank`.
TensorView* maybe_broadcast_inner_to_rank(TensorView* t, size_t rank);
/// The operands, tensors among them brought to the greatest rank by leading broadcast axes.
std::vector<Val*> maybeBroadcast(const std::vector<Val*>& vals);
/// An index of one axis with broadcast axes around it, so that it has `rank` axes and its own is at
/// `dim`.
TensorView* maybeBroadcastIndexTv(TensorView* t, size_t dim, size_t rank);
/// Whether all axes of an index but one are broadcast.
bool isIndexAlreadyBroadcast(const std::vector<IterDomain*>& index_domain, size_t dim, size_t rank);

/// `axes` of `tv` (reductions not counted) counted from the front, sorted, each once. Throws
/// `UserError` (naming `op`) out of range (naming `tv`) or for duplicates.
std::vector<int64_t> canonicalizeAxes(const std::vector<int64_t>& axes, const TensorView* tv,
                                      std::string_view op);
/// `axes` counted from the front, sorted, each once. Throws `UserError` (naming `op`) out of range
/// or for duplicates.
std::vector<int64_t> canonicalizeAxes(const std::vector<int64_t>& axes, int64_t ndims,
                                      std::string_view op = "reduction");

/// Least and greatest value of a dtype: -inf and inf for floats, false and true for Bool.
Val* getMinimumValue(DataType dtype);
Val* getMaximumValue(DataType dtype);
/// The e with op(e, x) == x: the start of a reduction. Null where the operation has none.
Val* binOpIdentity(BinaryOpType op_type, DataType dtype);

/// Number of axes that are no reductions.
int64_t rankOf(const TensorView* tv);

}  // namespace nvfuser::ops
