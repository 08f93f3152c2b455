/// Where axes meet in an operation, their sizes agree, or one is a broadcast axis: checked for each
/// new set of sizes, before anything runs. What symbols show to be equal is not checked.
#pragma once

#include <vector>

#include <evaluator/expression_evaluator.h>
#include <ir/fusion.h>

namespace nvfuser::settling {

class Meetings {
 public:
  /// Of a settled Fusion, or of one that the user scheduled.
  explicit Meetings(const Fusion& fusion);
  /// Throws `UserError` naming the operation, both tensors and both sizes.
  void check(ExpressionEvaluator& sizes) const;

 private:
  struct Meeting {
    const Expr* expr;
    const TensorView* tensor;  ///< whose axis it is
    size_t axis;
    Val* size;
    Val* needed;
    const TensorView*
        other;  ///< the operand that the needed size comes from; null: it was asked for
    size_t other_axis;
  };
  void addPairs(const Expr* expr, const TensorView* out);

  std::vector<Meeting> meetings_;
};

}  // namespace nvfuser::settling
