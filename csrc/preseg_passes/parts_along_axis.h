/// Tensors at one place of an axis, computed from the operands at that place.
///
///   T3[n, 3] = T1[n, 3] * T2[n]           of(T3, 1, k) = select(T1, k, dim = 1) * T2
///   T4[n, 4] = cat(T0[n, 1], T3[n, 3])    of(T4, 1, k) = of(T3, 1, k - 1), for k > 0
///
///   T6[n, 3] = scan_add(T5[n, 3])         of(T6, 1, k) = of(T6, 1, k - 1) + of(T5, 1, k)
///
/// The way leads over pointwise operations, broadcasts, permutations, slices, pads, joins (of which
/// a place along the joined axis has one operand), the first elements of scans along the axis, and
/// reads at an index: along other axes, or along this one where the place is known, as that of a
/// reversed order.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <vector>

#include <ir/composite_nodes.h>
#include <ir/internal_nodes.h>

namespace nvfuser::preseg_passes {

/// An operation whose result at a place takes its operands at that place alone.
bool isPointwise(const Expr* expr);

/// Elements of an axis of few, from two to `most`; nothing for other axes.
std::optional<int64_t> shortExtent(const IterDomain* id, int64_t most = 4);

/// `parts`, which lack an axis, joined along it: axis number `axis` of the result.
TensorView* joinedAlong(std::vector<TensorView*> parts, size_t axis);

/// Pointwise operations that parts may take: as many as the fusion has, and some. More would be a
/// kernel of twice the length and longer, as of each of a thousand steps that a long chain has
/// computed at once.
int64_t mostOperationsOfParts(const Fusion& fusion);

class PartsAlongAxis {
 public:
  /// `most`: pointwise operations that may be made; from there on nothing has parts.
  explicit PartsAlongAxis(int64_t most = std::numeric_limits<int64_t>::max()) : left_(most) {}

  /// `tv` at element `k` of its axis number `axis`, which goes; null: it cannot be computed from
  /// parts of inputs.
  TensorView* of(TensorView* tv, size_t axis, int64_t k);

  /// Whether some part was read from an input that has an element for each of its own.
  bool readsWhole(const TensorView* tv) const;

  /// How many more operations may be made.
  int64_t left() const { return left_; }

 private:
  struct Key {
    int64_t tensor;
    size_t axis;
    int64_t element;
    auto operator<=>(const Key&) const = default;
  };

  TensorView* computed(TensorView* tv, size_t axis, int64_t k);
  /// Of what is read at an index.
  TensorView* readAlong(const GatherOp* op, size_t axis, int64_t k);
  /// A table that is an input whose axis number `axis` lies within the one that is read at an
  /// index, without it: as rows of its elements one after the other. Reads of an index's parts then
  /// meet in one line of memory, and no column of the table is stored apart. Null for other tables.
  ///
  ///   T0[n, 3]    gather(T0, T1, dim = 0) at k = gather(reshape(T0, 3 · n), 3 · T1 + k, dim = 0)
  TensorView* rowAfterRow(TensorView* table, size_t dim, size_t axis);
  /// Of what is repeated along the axis alone, the one element.
  TensorView* repeated(const RepeatOp* op, size_t axis, int64_t k);
  TensorView* stretched(const ExpandOp* op, size_t axis, int64_t k);
  /// Of what is joined along the axis, the element of the operand that has it; else the parts of
  /// all operands, joined.
  TensorView* joined(const CatOp* op, size_t axis, int64_t k);
  TensorView* pointwise(const Expr* def, size_t axis, int64_t k);
  TensorView* spread(const BroadcastOp* op, size_t axis, int64_t k);
  TensorView* squeezed(const SqueezeOp* op, size_t axis, int64_t k);
  TensorView* permuted(TensorView* tv, size_t axis, int64_t k);
  /// Along the axis a slice begins, and a pad ends, at a place that is known.
  TensorView* sliced(const SliceOp* op, size_t axis, int64_t k);
  TensorView* padded(const PadOp* op, size_t axis, int64_t k);
  TensorView* scanned(const ScanOp* op, size_t axis, int64_t k);
  /// What an index says at element `k`, where it says the same along all other axes.
  std::optional<int64_t> placeAt(TensorView* index, size_t axis, int64_t k);

  int64_t left_;
  int64_t depth_ = 0;  ///< of operations that lead to each other
  std::map<Key, TensorView*> parts_;
  std::map<Key, TensorView*> row_after_row_;  ///< by an input and its axis that is read at an index
  std::vector<const TensorView*> read_;       ///< inputs
};

}  // namespace nvfuser::preseg_passes
