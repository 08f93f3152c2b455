#include <device_lower/rounded_results.h>

#include <algorithm>

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

bool isRounding(const Expr* use) {
  return use->isA<UnaryOp>() && use->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Cast &&
         use->output(0)->dtype() == DataType::BFloat16;
}

}  // namespace

std::unordered_set<const TensorView*> roundedResults(const Fusion& fusion) {
  std::unordered_set<const TensorView*> rounded;
  const std::vector<Expr*> exprs = fusion.exprs();
  for (auto expr = exprs.rbegin(); expr != exprs.rend(); ++expr) {
    for (const Val* out : (*expr)->outputs()) {
      if (!out->isA<TensorView>() || out->dtype() != DataType::Float || out->isFusionOutput()) {
        continue;
      }
      const auto* tv = out->as<TensorView>();
      const std::vector<Expr*> uses = fusion.usesOf(tv);
      const bool is_rounded =
          !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Expr* use) {
            return isRounding(use) ||
                   (keepsRelativeError(use, tv) &&
                    std::all_of(use->outputs().begin(), use->outputs().end(), [&](const Val* val) {
                      return val->isA<TensorView>() && rounded.count(val->as<TensorView>()) != 0;
                    }));
          });
      if (is_rounded) {
        rounded.insert(tv);
      }
    }
  }
  return rounded;
}

}  // namespace nvfuser
