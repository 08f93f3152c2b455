#include <preseg_passes/hoist_selections.h>

#include <algorithm>
#include <unordered_set>

#include <ops/axes.h>
#include <preseg_passes/parts_along_axis.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

/// Operations for each element of a tensor that others read whole.
constexpr int64_t kMostAgain = 32;

/// The place that an operation selects, if it is known.
std::optional<int64_t> placeOf(const Expr* expr) {
  return expr->isA<SelectOp>() ? ops::constantOf(expr->input(1)) : std::nullopt;
}

/// Whether what the operation gives at a place takes no more than its operands at places.
bool isThroughPlaces(const Expr* expr) {
  return isPointwise(expr) || expr->isOneOf<BroadcastOp, CatOp, ExpandOp, PadOp, RepeatOp>() ||
         (expr->isA<LoadStoreOp>() && !expr->output(0)->as<TensorView>()->hasRoot());
}

/// Pointwise operations behind a tensor, as far as parts of it are computed.
int64_t operationsBehind(const TensorView* tv) {
  std::unordered_set<const Expr*> seen;
  std::vector<const TensorView*> open{tv};
  int64_t count = 0;
  while (!open.empty()) {
    const TensorView* next = open.back();
    open.pop_back();
    const Expr* def = next->isFusionInput() ? nullptr : next->definition();
    if (def == nullptr || !isThroughPlaces(def) || !seen.insert(def).second) {
      continue;
    }
    count += isPointwise(def) ? 1 : 0;
    for (const TensorView* in : tensorInputs(def)) {
      open.push_back(in);
    }
  }
  return count;
}

/// Whether places of `tv` may be computed apart from the rest of it.
bool pays(const TensorView* tv, const std::vector<Expr*>& readers) {
  const bool whole =
      tv->isFusionOutput() || std::any_of(readers.begin(), readers.end(),
                                          [](const Expr* reader) { return !placeOf(reader); });
  if (!whole) {
    return true;
  }
  double elements = 0;  // for each element of the tensor
  for (const Expr* reader : readers) {
    if (placeOf(reader)) {
      const IterDomain* axis = ops::axesOf(tv)[static_cast<size_t>(reader->as<SelectOp>()->dim())];
      elements += 1.0 / static_cast<double>(ops::constantOf(axis->extent()).value_or(kMostAgain));
    }
  }
  return elements * static_cast<double>(operationsBehind(tv)) <= kMostAgain;
}

}  // namespace

void hoistSelections(Fusion& fusion) {
  FusionGuard guard(&fusion);
  PartsAlongAxis parts;
  for (const Expr* expr : fusion.exprs()) {
    const std::optional<int64_t> place = placeOf(expr);
    auto* from = place ? expr->input(0)->as<TensorView>() : nullptr;
    if (from == nullptr || from->isFusionInput() || from->definition() == nullptr ||
        !isThroughPlaces(from->definition()) || !pays(from, fusion.usesOf(from))) {
      continue;
    }
    auto* old = expr->output(0)->as<TensorView>();
    const auto axis = static_cast<size_t>(expr->as<SelectOp>()->dim());
    TensorView* result = parts.of(from, axis, *place);
    if (result != nullptr && sameForm(old, result)) {
      replaceTensor(old, result);
    }
  }
}

}  // namespace nvfuser::preseg_passes
