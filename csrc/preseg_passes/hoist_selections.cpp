#include <preseg_passes/hoist_selections.h>

#include <algorithm>

#include <ops/axes.h>
#include <preseg_passes/parts_along_axis.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

/// Operations that are done again for each element of a tensor that others read whole.
constexpr int64_t kMostAgain = 32;

/// The place that an operation selects, if it is known.
std::optional<int64_t> placeOf(const Expr* expr) {
  return expr->isA<SelectOp>() ? ops::constantOf(expr->input(1)) : std::nullopt;
}

/// Exchanges all selections of known places of `tv`, or none.
void hoistSelectionsOf(TensorView* tv, PartsAlongAxis& parts) {
  const std::vector<Expr*> readers = tv->fusion()->usesOf(tv);
  std::vector<std::pair<TensorView*, TensorView*>> exchanged;
  double again = 0;  // operations for each element of the tensor
  for (const Expr* reader : readers) {
    const std::optional<int64_t> place = placeOf(reader);
    if (!place) {
      continue;
    }
    const auto axis = static_cast<size_t>(reader->as<SelectOp>()->dim());
    const int64_t before = parts.left();
    TensorView* part = parts.of(tv, axis, *place);
    auto* old = reader->output(0)->as<TensorView>();
    if (part == nullptr || !sameForm(old, part)) {
      return;
    }
    const int64_t extent = ops::constantOf(ops::axesOf(tv)[axis]->extent()).value_or(kMostAgain);
    again += static_cast<double>(before - parts.left()) / static_cast<double>(extent);
    exchanged.emplace_back(old, part);
  }
  const bool is_whole = tv->isFusionOutput() || exchanged.size() < readers.size();
  if (is_whole && again > kMostAgain) {
    return;
  }
  for (auto [old, part] : exchanged) {
    replaceTensor(old, part);
  }
}

}  // namespace

void hoistSelections(Fusion& fusion) {
  FusionGuard guard(&fusion);
  PartsAlongAxis parts(mostOperationsOfParts(fusion));
  for (const Expr* expr : fusion.exprs()) {
    for (TensorView* tv : tensorOutputs(expr)) {
      hoistSelectionsOf(tv, parts);
    }
  }
}

}  // namespace nvfuser::preseg_passes
