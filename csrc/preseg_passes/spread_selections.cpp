#include <preseg_passes/spread_selections.h>

#include <ops/alias.h>
#include <ops/axes.h>
#include <ops/indexing.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

void spread(Fusion& fusion, bool at_inputs) {
  FusionGuard guard(&fusion);
  for (const Expr* expr : fusion.exprs()) {
    if (!expr->isA<IndexSelectOp>() || (!at_inputs && expr->input(1)->definition() == nullptr)) {
      continue;
    }
    auto* from = expr->input(0)->as<TensorView>();
    auto* index = expr->input(1)->as<TensorView>();
    const int64_t dim = expr->as<IndexSelectOp>()->dim();
    std::vector<bool> is_new(ops::axesOf(from).size(), true);
    is_new[static_cast<size_t>(dim)] = ops::axesOf(index).empty();
    TensorView* read = takeAlongAxis(
        from, is_new.size() == 1 && !is_new[0] ? index : broadcast(index, is_new), dim);
    auto* out = expr->output(0)->as<TensorView>();
    if (sameForm(out, read)) {
      replaceTensor(out, read);
    }
  }
}

}  // namespace

void spreadSelections(Fusion& fusion) { spread(fusion, true); }
void spreadComputedSelections(Fusion& fusion) { spread(fusion, false); }

}  // namespace nvfuser::preseg_passes
