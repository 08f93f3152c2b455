/// Operations that move elements without computing on them: copies, shapes, permutations, parts and
/// joins.
///
/// Positions of axes count the axes that are no reductions; negative ones count from the end. Axes
/// of extent 1 that are known to be so are broadcast axes in every result, so that they go with any
/// other axis. One of a computed extent is Symbolic: a call's sizes settle what it is (settling/).
#pragma once

#include <initializer_list>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser {

// ---- copies (copy.cpp) --------------------------------------------------------------------------

Val* set(Val* v);
TensorView* set(TensorView* tv);
/// A copy at which the fusion is cut into kernels.
Val* segment_set(Val* v);
TensorView* segment_set(TensorView* tv);
/// The same bits read as another dtype of equal size; `x` itself for its own dtype.
TensorView* view(TensorView* x, DataType dtype);

// ---- shape (reshape.cpp) ------------------------------------------------------------------------

/// The elements of `x` in row-major order, in another shape. One new size may be −1: what is left.
/// `original_sizes` says which sizes `x` has where its extents are symbols; the result's form
/// (which axes are merged and split) is fixed by it.
TensorView* reshape(TensorView* x, const std::vector<int64_t>& original_sizes,
                    const std::vector<int64_t>& new_sizes);
/// The same with sizes as scalars. Axes whose size stays (the same scalar, or equal constants) stay
/// themselves; what cannot be told apart is merged and split by the new sizes. The number of
/// elements must agree when it runs.
TensorView* reshape(TensorView* x, const std::vector<Val*>& new_sizes);
/// Axes start_dim … end_dim become one.
TensorView* flatten(TensorView* x, int64_t start_dim = 0, int64_t end_dim = -1);

// ---- axes of extent 1 (broadcast.cpp) -----------------------------------------------------------

/// Drops axes of extent 1. Expanded ones go only with `squeeze_expanded`.
TensorView* squeeze(TensorView* x, const std::vector<int64_t>& dims, bool squeeze_expanded = false);
TensorView* squeeze(TensorView* x, std::initializer_list<int64_t> dims);
TensorView* squeeze(TensorView* x, const std::vector<bool>& to_squeeze,
                    bool squeeze_expanded = false);
/// Adds an axis of extent 1, which is at `dim` afterwards.
TensorView* unsqueeze(TensorView* x, int64_t dim);
/// One flag for each axis of the result: true for a new one of extent 1.
TensorView* broadcast(TensorView* inp, const std::vector<bool>& is_broadcast_dim);
/// Stretches axes of extent 1 without copying. −1 keeps an axis; more sizes than axes add leading
/// ones.
TensorView* expand(TensorView* inp, const std::vector<Val*>& expanded_sizes);
TensorView* expand_as(TensorView* inp, TensorView* other);
/// `inp` repeated along each axis (as numpy.tile); more counts than axes add leading ones.
TensorView* repeat(TensorView* inp, const std::vector<int64_t>& repeat_times);

// ---- order (permute.cpp) ------------------------------------------------------------------------

/// Axis i of the result is axis new2old[i] of `x`.
TensorView* permute(TensorView* x, const std::vector<int64_t>& new2old);
TensorView* permute(TensorView* x, std::initializer_list<int64_t> new2old);
/// Axis `first` of `x` goes to position `second`; the others keep their order.
TensorView* permute(TensorView* x, const std::unordered_map<int64_t, int64_t>& old2new);
TensorView* permute(TensorView* x,
                    std::initializer_list<std::pair<const int64_t, int64_t>> old2new);
TensorView* transpose(TensorView* x, int64_t dim0, int64_t dim1);
/// Of a matrix; tensors of fewer axes are copied.
TensorView* transpose(TensorView* x);

// ---- parts and joins (slice.cpp, pad_cat.cpp) ---------------------------------------------------

/// start ≤ i < stop. Null: 0, the extent, 1.
struct Slice {
  Val* start = nullptr;
  Val* stop = nullptr;
  Val* step = nullptr;
};
/// One range for each axis, with Python's meaning: negative bounds count from the end, those beyond
/// it are cut. `manual_normalization`: 0 ≤ start ≤ stop ≤ extent is known to hold. The only step
/// is 1.
TensorView* slice(TensorView* inp, const std::vector<Slice>& ranges,
                  bool manual_normalization = false);
TensorView* slice(TensorView* inp, const std::vector<int64_t>& starts,
                  const std::vector<int64_t>& stops, const std::vector<int64_t>& steps);
TensorView* slice(TensorView* inp, const std::vector<int64_t>& starts,
                  const std::vector<int64_t>& stops);
/// Elements start + i·step of an axis, 0 ≤ i < size; a negative step counts down. Null: from the
/// first element on (the last one, if the step is negative), as many as there are.
struct Steps {
  Val* start = nullptr;
  Val* size = nullptr;
  int64_t step = 1;
};
/// One for each axis. All elements lie within it.
TensorView* stridedSlice(TensorView* x, const std::vector<Steps>& steps);
/// The elements of these axes in reversed order.
TensorView* flip(TensorView* x, const std::vector<int64_t>& dims);
/// `in` cut along `dim` into pieces of ceilDiv(size, chunks). For a constant size there may be
/// fewer pieces (as many as it takes); for a symbolic one always `chunks`, the last ones of which
/// may be short or empty.
std::vector<TensorView*> chunk(TensorView* in, int64_t chunks, int64_t dim);

/// `value` (zero unless given) around `x`. Widths: (left, right) of the last axis, then of the one
/// before, and so on; negative ones cut. `iter_type_opt`: kind of the padded axes.
TensorView* pad(TensorView* x, const std::vector<Val*>& pad_widths, Val* value = nullptr,
                std::optional<IterType> iter_type_opt = std::nullopt);
/// The inputs one after the other along `dim`; all other sizes agree. `manual_padding`: they are
/// padded to the shape of the result already.
TensorView* cat(const std::vector<TensorView*>& inputs, int64_t dim,
                std::optional<IterType> iter_type_opt = std::nullopt, bool manual_padding = false);

}  // namespace nvfuser
