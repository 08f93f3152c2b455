/// Operations that read or write where a scalar or an index tensor says.
///
/// Index tensors hold integers in 0 ≤ i < extent of the indexed axis; what lies outside is an error
/// of the data, found in debug and emulated runs.
#pragma once

#include <optional>

#include <ir/interface_nodes.h>
#include <ir/op_types.h>

namespace nvfuser {

/// `tv` at one position of axis `dim`, which goes away. A negative index counts from the end.
TensorView* select(TensorView* tv, int64_t dim, Val* index);

/// out[…, i, …] = input[…, index[i], …]. `index` has one axis, or none: then axis `dim` has
/// extent 1.
TensorView* indexSelect(TensorView* input, int64_t dim, TensorView* index);

/// out[i, j] = input[index[i, j], j] for dim 0: the shape of the result is that of `index`, which
/// may be smaller than `input` along the other axes (torch.gather).
TensorView* gather(TensorView* input, int64_t dim, TensorView* index);

/// The same, but along the other axes `index` and `input` have equal extents or broadcast
/// (numpy.take_along_axis). A floating-point index is cut to integers: by the rule of promotion
/// `where(valid, index, zero)` has the dtype of a float `zero`, and programs use that as an index.
TensorView* takeAlongAxis(TensorView* input, TensorView* index, int64_t dim);

/// A copy of `self` with out[index[i, j], j] = src[i, j] for dim 0; `src` is a tensor or a scalar.
/// Which of several elements with one target stays is not specified. With `accumulate_op` (Add,
/// Mul, Max, Min) they are combined with what is there, in their order along `dim`: every run gives
/// the same bits.
TensorView* scatter(TensorView* self, int64_t dim, TensorView* index, Val* src,
                    std::optional<BinaryOpType> accumulate_op = std::nullopt);

/// acc[index[i], …] + value[i, …], all i summed in their order: the gradient of a table whose rows
/// were read by `index`. `acc` and `value` have equal axes but for the first, `index` has one.
TensorView* indexPutAccumulate(TensorView* acc, TensorView* index, TensorView* value);

}  // namespace nvfuser
