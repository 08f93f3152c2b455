#include <preseg_passes/broadcast_squeeze.h>

#include <algorithm>

#include <ops/alias.h>
#include <ops/axes.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

bool any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

/// The broadcast that `tv` comes from, also by way of an expansion of axes that `dropped` flags.
const BroadcastOp* broadcastBehind(const TensorView* tv, const SqueezeOp* dropped) {
  const Expr* def = tv->definition();
  if (def != nullptr && def->isA<ExpandOp>()) {
    const std::vector<IterDomain*> before = ops::axesOf(def->input(0)->as<TensorView>());
    const std::vector<IterDomain*> after = ops::axesOf(tv);
    for (size_t i = 0; i < after.size(); ++i) {
      const bool changed = before[i]->hasExpandedExtent() != after[i]->hasExpandedExtent();
      if (changed && !dropped->isSqueezeDim(i)) {
        return nullptr;
      }
    }
    def = def->input(0)->definition();
  }
  return def != nullptr && def->isA<BroadcastOp>() ? def->as<BroadcastOp>() : nullptr;
}

/// squeeze(broadcast(x)) in a simpler form; null where there is none.
TensorView* squeezedBroadcast(const SqueezeOp* squeezed) {
  const BroadcastOp* added = broadcastBehind(squeezed->in()->as<TensorView>(), squeezed);
  if (added == nullptr) {
    return nullptr;
  }
  auto* x = added->in()->as<TensorView>();
  std::vector<bool> still_dropped;  // of the axes of x
  std::vector<bool> still_added;    // of the axes of the result
  for (size_t i = 0; i < added->flags().size(); ++i) {
    if (!added->isBroadcastDim(i)) {
      still_dropped.push_back(squeezed->isSqueezeDim(i));
    }
    if (!squeezed->isSqueezeDim(i)) {
      still_added.push_back(added->isBroadcastDim(i));
    }
  }
  if (any(still_dropped) && any(still_added)) {
    return nullptr;
  }
  if (any(still_added)) {
    return broadcast(x, still_added);
  }
  return any(still_dropped) ? squeeze(x, still_dropped, true) : x;
}

/// broadcast(squeeze(x)) that gives x back.
TensorView* broadcastSqueeze(const BroadcastOp* added, const SqueezeOp* squeezed) {
  auto* x = squeezed->in()->as<TensorView>();
  if (added->flags() != squeezed->flags()) {
    return nullptr;
  }
  const std::vector<IterDomain*> axes = ops::axesOf(x);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (squeezed->isSqueezeDim(i) && (!axes[i]->isBroadcast() || axes[i]->hasExpandedExtent())) {
      return nullptr;
    }
  }
  return x;
}

TensorView* broadcastTwice(const BroadcastOp* outer, const BroadcastOp* inner) {
  std::vector<bool> flags;
  size_t next = 0;
  for (size_t i = 0; i < outer->flags().size(); ++i) {
    flags.push_back(outer->isBroadcastDim(i) || inner->isBroadcastDim(next));
    next += outer->isBroadcastDim(i) ? 0 : 1;
  }
  return broadcast(inner->in()->as<TensorView>(), flags);
}

TensorView* squeezedTwice(const SqueezeOp* outer, const SqueezeOp* inner) {
  std::vector<bool> flags;
  size_t next = 0;
  for (size_t i = 0; i < inner->flags().size(); ++i) {
    const bool kept = !inner->isSqueezeDim(i);
    flags.push_back(!kept || outer->isSqueezeDim(next));
    next += kept ? 1 : 0;
  }
  return squeeze(inner->in()->as<TensorView>(), flags, true);
}

TensorView* simpler(const Expr* expr) {
  const Expr* before = expr->input(0)->definition();
  if (expr->isA<SqueezeOp>()) {
    if (before != nullptr && before->isA<SqueezeOp>()) {
      return squeezedTwice(expr->as<SqueezeOp>(), before->as<SqueezeOp>());
    }
    return squeezedBroadcast(expr->as<SqueezeOp>());
  }
  if (before != nullptr && before->isA<SqueezeOp>()) {
    return broadcastSqueeze(expr->as<BroadcastOp>(), before->as<SqueezeOp>());
  }
  if (before != nullptr && before->isA<BroadcastOp>()) {
    return broadcastTwice(expr->as<BroadcastOp>(), before->as<BroadcastOp>());
  }
  return nullptr;
}

}  // namespace

void cancelBroadcastSqueeze(Fusion& fusion) {
  FusionGuard guard(&fusion);
  for (const Expr* expr : fusion.exprs()) {
    if (!expr->isOneOf<BroadcastOp, SqueezeOp>()) {
      continue;
    }
    TensorView* replacement = simpler(expr);
    auto* out = expr->output(0)->as<TensorView>();
    // Two outputs, or an input and an output, stay views of each other: a copy would be a kernel.
    const bool is_view = out->isFusionOutput() && replacement != nullptr &&
                         (replacement->isFusionInput() || replacement->isFusionOutput());
    if (replacement != nullptr && !is_view && sameForm(out, replacement)) {
      replaceTensor(out, replacement);
    }
  }
}

}  // namespace nvfuser::preseg_passes
