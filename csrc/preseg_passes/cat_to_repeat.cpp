#include <preseg_passes/cat_to_repeat.h>

#include <algorithm>

#include <ops/alias.h>
#include <ops/axes.h>
#include <preseg_passes/joined_parts.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

void turnCatIntoRepeat(Fusion& fusion) {
  FusionGuard guard(&fusion);
  for (const Expr* expr : fusion.exprs()) {
    if (!expr->isA<CatOp>()) {
      continue;
    }
    const auto parts = joinedParts(expr->as<CatOp>());
    if (!parts || parts->size() < 2 ||
        std::any_of(parts->begin(), parts->end(),
                    [&](const TensorView* part) { return part != parts->front(); })) {
      continue;
    }
    TensorView* part = parts->front();
    const auto axis = static_cast<size_t>(expr->as<CatOp>()->concatenatedDim());
    if (ops::axesOf(part)[axis]->isBroadcast()) {
      continue;
    }
    std::vector<int64_t> times(ops::axesOf(part).size(), 1);
    times[axis] = static_cast<int64_t>(parts->size());
    auto* out = expr->output(0)->as<TensorView>();
    TensorView* repeated = repeat(part, times);
    if (sameForm(out, repeated)) {
      replaceTensor(out, repeated);
    }
  }
}

}  // namespace nvfuser::preseg_passes
