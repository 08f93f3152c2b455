#include <preseg_passes/narrow_joins.h>

#include <algorithm>

#include <ops/alias.h>
#include <ops/axes.h>
#include <preseg_passes/joined_parts.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

/// Joins of neighbours, as few as there can be and about equally long.
std::vector<TensorView*> joinsOf(const std::vector<TensorView*>& parts, int64_t axis) {
  const size_t count = (parts.size() + kWidestJoin - 1) / kWidestJoin;
  std::vector<TensorView*> joins;
  for (size_t i = 0; i < count; ++i) {
    const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(parts.size() * i / count);
    const auto end = parts.begin() + static_cast<std::ptrdiff_t>(parts.size() * (i + 1) / count);
    joins.push_back(cat({begin, end}, axis));
  }
  return joins;
}

}  // namespace

void narrowJoins(Fusion& fusion) {
  FusionGuard guard(&fusion);
  for (const Expr* expr : fusion.exprs()) {
    if (!expr->isA<CatOp>() || expr->inputs().size() <= kWidestJoin) {
      continue;
    }
    auto parts = joinedParts(expr->as<CatOp>());
    if (!parts) {
      continue;
    }
    const int64_t axis = expr->as<CatOp>()->concatenatedDim();
    while (parts->size() > kWidestJoin) {
      *parts = joinsOf(*parts, axis);
    }
    auto* out = expr->output(0)->as<TensorView>();
    TensorView* joined = cat(*parts, axis);
    if (sameForm(out, joined)) {
      replaceTensor(out, joined);
    }
  }
}

}  // namespace nvfuser::preseg_passes
