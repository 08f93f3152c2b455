#include <device_lower/rounded_results.h>

#include <algorithm>
#include <optional>

#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

bool isMoved(const Expr* expr) {
  return expr->isA<LoadStoreOp>() || expr->isA<BroadcastOp>() || expr->isA<SqueezeOp>() ||
         expr->isA<ExpandOp>() || expr->isA<RepeatOp>() || expr->isA<ReshapeOp>();
}

bool isNeverNegative(const TensorView* tv) {
  const Expr* expr = tv->definition();
  if (expr == nullptr) {
    return false;
  }
  if (const auto* unary = dynamic_cast<const UnaryOp*>(expr)) {
    const UnaryOpType type = unary->getUnaryOpType();
    return type == UnaryOpType::Exp || type == UnaryOpType::Exp2 || type == UnaryOpType::Sigmoid ||
           type == UnaryOpType::Abs || type == UnaryOpType::Sqrt;
  }
  return (isMoved(expr) || isSum(expr)) && expr->input(0)->isA<TensorView>() &&
         isNeverNegative(expr->input(0)->as<TensorView>());
}

/// Whether a relative error of `tv` is one of the operation's result, no larger.
bool keepsRelativeError(const Expr* use, const TensorView* tv) {
  switch (use->kind()) {
    case ExprKind::UnaryOp: {
      const UnaryOpType type = use->as<UnaryOp>()->getUnaryOpType();
      return type == UnaryOpType::Neg || type == UnaryOpType::Abs || type == UnaryOpType::Sqrt ||
             type == UnaryOpType::Rsqrt || type == UnaryOpType::Reciprocal ||
             type == UnaryOpType::Relu;
    }
    case ExprKind::BinaryOp: {
      const BinaryOpType type = use->as<BinaryOp>()->getBinaryOpType();
      // (Twice the same operand is twice the error.)
      return type == BinaryOpType::Mul || type == BinaryOpType::Div;
    }
    case ExprKind::ReductionOp:
      return isSum(use) && isNeverNegative(tv);
    default:
      return isMoved(use);
  }
}

/// The digits that a use shows: of a rounding those of its result, on the way to one those that it
/// shows itself; nothing where it may show all.
std::optional<int> digitsShownBy(const Expr* use, const TensorView* tv,
                                 const std::unordered_map<const TensorView*, int>& shown) {
  if (use->isA<UnaryOp>() && use->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Cast &&
      isReducedPrecisionFloat(use->output(0)->dtype())) {
    return significandBits(use->output(0)->dtype());
  }
  if (!keepsRelativeError(use, tv)) {
    return std::nullopt;
  }
  int digits = 0;
  for (const Val* val : use->outputs()) {
    const auto found = val->isA<TensorView>() ? shown.find(val->as<TensorView>()) : shown.end();
    if (found == shown.end()) {
      return std::nullopt;
    }
    digits = std::max(digits, found->second);
  }
  return digits;
}

}  // namespace

std::unordered_map<const TensorView*, int> digitsShown(const Fusion& fusion) {
  std::unordered_map<const TensorView*, int> shown;
  const std::vector<Expr*> exprs = fusion.exprs();
  for (auto expr = exprs.rbegin(); expr != exprs.rend(); ++expr) {
    for (const Val* out : (*expr)->outputs()) {
      if (!out->isA<TensorView>() || out->dtype() != DataType::Float || out->isFusionOutput()) {
        continue;
      }
      const auto* tv = out->as<TensorView>();
      std::optional<int> digits;
      for (const Expr* use : fusion.usesOf(tv)) {
        const std::optional<int> by_use = digitsShownBy(use, tv, shown);
        if (!by_use) {
          digits.reset();
          break;
        }
        digits = std::max(digits.value_or(0), *by_use);
      }
      if (digits) {
        shown[tv] = *digits;
      }
    }
  }
  return shown;
}

}  // namespace nvfuser
