#include <preseg_passes/cancel_reshapes.h>

#include <ops/axes.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

bool sameSizes(const TensorView* a, const TensorView* b) {
  const std::vector<IterDomain*> first = ops::axesOf(a);
  const std::vector<IterDomain*> second = ops::axesOf(b);
  for (size_t i = 0; i < first.size() && first.size() == second.size(); ++i) {
    const Val* size = ops::extentOf(first[i]);
    const Val* other = ops::extentOf(second[i]);
    const auto constant = ops::constantOf(size);
    if (!size->sameAs(other) && (!constant || constant != ops::constantOf(other))) {
      return false;
    }
  }
  return sameForm(a, b);
}

}  // namespace

void cancelReshapes(Fusion& fusion) {
  for (const Expr* expr : fusion.exprs()) {
    auto* const reshaped = expr->output(0);
    for (const Expr* step = expr; step != nullptr && step->isA<ReshapeOp>();
         step = step->input(0)->isFusionInput() ? nullptr : step->input(0)->definition()) {
      auto* source = step->input(0)->as<TensorView>();
      if (sameSizes(reshaped->as<TensorView>(), source)) {
        replaceTensor(reshaped->as<TensorView>(), source);
        break;
      }
    }
  }
}

}  // namespace nvfuser::preseg_passes
