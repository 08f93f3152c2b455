#include <preseg_passes/cancel_reshapes.h>

#include <algorithm>

#include <ops/axes.h>
#include <preseg_passes/before_reshape.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

/// The operand of a reshape, or of one in front of it, that has the sizes of `reshaped`.
TensorView* operandOf(const TensorView* reshaped) {
  const Expr* step = reshaped->definition();
  while (step != nullptr && step->isA<ReshapeOp>()) {
    auto* source = step->input(0)->as<TensorView>();
    if (sameSizes(shownSizes(reshaped), shownSizes(source)) && sameForm(reshaped, source)) {
      return source;
    }
    step = source->isFusionInput() ? nullptr : source->definition();
  }
  return nullptr;
}

/// What is reshaped, computed without a reshape in front of it.
TensorView* computedBefore(const TensorView* reshaped) {
  auto* source = reshaped->definition()->input(0)->as<TensorView>();
  if (source->isFusionInput() || !source->definition()->isOneOf<UnaryOp, BinaryOp, TernaryOp>()) {
    return nullptr;
  }
  BeforeReshape before(reshaped, source);
  TensorView* made = before.of(source);
  const std::vector<const TensorView*>& views = before.reached();
  const bool may = made != nullptr && sameForm(reshaped, made) && !views.empty() &&
                   std::none_of(views.begin(), views.end(), leadsToReductions);
  return may ? made : nullptr;
}

}  // namespace

void cancelReshapes(Fusion& fusion) {
  FusionGuard guard(&fusion);
  for (const Expr* expr : fusion.exprs()) {
    if (!expr->isA<ReshapeOp>()) {
      continue;
    }
    auto* reshaped = expr->output(0)->as<TensorView>();
    TensorView* same = operandOf(reshaped);
    same = same != nullptr ? same : computedBefore(reshaped);
    if (same != nullptr) {
      replaceTensor(reshaped, same);
    }
  }
}

}  // namespace nvfuser::preseg_passes
