/// Which tensors of a normalisation must stay on the chip between its reductions.
///
/// The loops over the reduced axes run one after the other; each statement has a place, the number
/// of reductions that have to be complete before it (later where only later ones read it):
///
///   place 0   m = max(x)      1   s = sum(exp(x − m))      2   y = exp(x − m) / s
///
/// A tensor along the reduced axes that is read at a later place than the first is held in between,
/// or computed again from what is held (`recompute.h`).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <scheduler/analysis/reductions.h>

namespace nvfuser {

class PersistentBuffers {
 public:
  PersistentBuffers(const Fusion& fusion, const IdGraph& permissive,
                    const ReductionSignature& signature);

  /// Held if nothing is computed again: in definition order, inputs among them.
  const std::vector<TensorView*>& held() const { return held_; }
  /// The loop that an expression is in.
  int64_t placeOf(const Expr* expr) const { return places_.at(expr->name()); }
  int64_t places() const { return last_ + 1; }

  /// Bytes that an element of a row takes in held tensors at the busiest moment.
  int64_t bytesHeld(DataType index_type) const;
  /// The same if all are computed again from the inputs that they come from.
  int64_t bytesProjected(DataType index_type) const;
  /// The tensor that stands in the way of computing all held ones again from inputs; null if
  /// nothing does.
  const TensorView* notRecomputable() const { return obstacle_; }
  /// Whether it has a reduced axis, or one that a reshape makes reduced axes of:
  ///
  ///   T1[n, g, c/g] = reshape(T0[n, c]); T2[n, g] = sum(T1)        T0 is of the rows, too
  bool isOfRows(const TensorView* tv) const;
  /// Expensive operations (exp, log, …) that would be done again for each element.
  int64_t expensiveRepeated() const { return expensive_; }
  /// Whether that would make a kernel of some other size: of n norms one after another, each of
  /// the last ones' loops would compute all before it again, n² operations.
  bool repeatsMany() const;

 private:
  void place(const Fusion& fusion);
  void project();
  /// Whether the rows that a reduction takes are read from somewhere. Of rows that are not (iota),
  /// copies would have nothing in common, and no loops.
  bool comesFromInput(const TensorView* row) const;
  /// Whether each element of a row is one of its own in `tv`, in front of reshapes or behind them.
  bool spansRows(const TensorView* tv) const;
  int64_t peak(const std::vector<std::pair<TensorView*, std::pair<int64_t, int64_t>>>& lives,
               DataType index_type) const;

  const IdGraph& permissive_;
  const ReductionSignature& signature_;
  std::set<int> in_front_;  ///< classes of axes that reshapes make reduced ones of
  std::vector<TensorView*> held_;
  std::map<int64_t, int64_t> places_;  ///< by the expression's name
  /// From the first to the last place that needs them.
  std::vector<std::pair<TensorView*, std::pair<int64_t, int64_t>>> lives_;
  std::vector<std::pair<TensorView*, std::pair<int64_t, int64_t>>> projected_;
  int64_t last_ = 0;
  int64_t expensive_ = 0;
  int64_t repeated_ = 0;  ///< operations in loops besides their own, if all are computed again
  const TensorView* obstacle_ = nullptr;
};

/// Whether an operation can be done again with equal results and without reading memory anew in
/// another order: element-wise, no random numbers, no change of shape but broadcasts
/// and reshapes.
bool canRecompute(const Expr* expr);

/// Each tensor that is read at several places is computed at each of them from inputs, as far as
/// operations allow; what is computed at a place, stays there. With `hold_expensive`, from results
/// of exponentials and their like, too, which are held.
void projectToInputs(Fusion* fusion, bool hold_expensive);

/// Whether rows of inputs are read in one pass alone once these results are held, which then wait
/// on the chip instead: logarithms do, of which the greatest is wanted; exponentials of a softmax
/// do not, whose rows are read for their maximum, too.
bool expensiveReplaceInputs(const Fusion& fusion);

}  // namespace nvfuser
