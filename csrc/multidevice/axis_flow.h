/// Operations in parts: which axes of an operation's result can be cut, and what each operand then
/// needs.
///
///   T2[m, n] = matmul(T0[m, k], T1[k, n])     m of T2 cut: m of T0 cut, T1 whole
///                                             k of T0 and T1 cut: T2 is a sum of parts
#pragma once

#include <optional>
#include <vector>

#include <ir/internal_nodes.h>
#include <multidevice/multiples.h>

namespace nvfuser::multidevice {

class AxisFlow {
 public:
  /// The axes of `expr`, all of whose outputs are tensors. Says the same when operands have been
  /// exchanged since.
  AxisFlow(const Expr* expr, const Multiples& multiples);

  /// Whether `out` can be computed in equal parts along its axis: an element needs operands'
  /// elements at its own place along that axis, where they have it, and no others.
  bool canCut(const TensorView* out, size_t axis, ParallelType mesh_axis) const;
  /// The axis of `in` that goes with it; none where `in` is needed whole.
  std::optional<size_t> operandAxis(const TensorView* in, const TensorView* out, size_t axis) const;
  /// The axis of `out` that goes with an axis of `in`.
  std::optional<size_t> resultAxis(const TensorView* in, size_t axis, const TensorView* out) const;

  /// What combines the results of operands' parts along an axis of `in`; none where they cannot be.
  std::optional<BinaryOpType> combines(const TensorView* in, size_t axis) const;
  /// The axis of a product's operand that is summed over; both operands are cut there together.
  std::optional<size_t> combinedAxis(const TensorView* in) const;

 private:
  struct Pair {
    const TensorView* in;
    size_t from;
    const TensorView* out;
    size_t to;
    bool is_broadcast;  ///< the operand's axis, so that it has one element
    std::array<bool, kNumMeshAxes> can_cut = {true, true, true};  ///< along x, y, z
  };
  struct Combined {
    const TensorView* in;
    size_t axis;
    BinaryOpType by;
  };
  void readPairs(const Expr* expr);
  void readReshape(const Expr* expr, const Multiples& multiples);
  void readReduction(const ReductionOp* op);
  void readProduct(const Expr* expr);

  std::vector<Pair> pairs_;
  std::vector<Combined> combined_;
  std::vector<const TensorView*> made_from_sizes_;  ///< results that can be cut anywhere
};

}  // namespace nvfuser::multidevice
