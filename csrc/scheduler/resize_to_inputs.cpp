#include <scheduler/resize_to_inputs.h>

#include <algorithm>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <scheduler/cache_borders.h>
#include <scheduler/propagate_resizes.h>

namespace nvfuser::scheduler_tools {

namespace {

/// Operations that may be made beside as many as the fusion has; a resize beyond that stays what it
/// is. Each step of a stencil needs the one before it through one window more, so n steps in one
/// kernel are n²/2 steps' work: what is done again may not be more than what is done.
constexpr int64_t kMoreOperations = 32;

/// Whether the resize reads a tensor that is computed (by more than the pads of a concatenation).
bool readsComputed(const Expr* resize) {
  if (!resize->isA<CatOp>()) {
    return isComputed(resize->input(0));
  }
  const std::vector<const PadOp*> pads = padsOf(resize->as<CatOp>());
  return std::any_of(pads.begin(), pads.end(),
                     [](const PadOp* pad) { return isComputed(pad->in()); });
}

/// Whether another tensor can be laid out in memory as this output is.
bool hasPlainMemory(const TensorView* tv) {
  const auto& memory = tv->getMaybeAllocationDomain();
  const auto& logical = tv->getLogicalDomain();
  return std::all_of(memory.begin(), memory.end(), [&](const IterDomain* id) {
    return std::find(logical.begin(), logical.end(), id) != logical.end();
  });
}

}  // namespace

void ResizePropagation::run() {
  const std::vector<Expr*> exprs = fusion_->exprs();
  left_ = kMoreOperations + std::count_if(exprs.begin(), exprs.end(), [](const Expr* expr) {
            return !tensorOutputs(expr).empty();
          });
  for (Expr* expr : exprs) {
    if (!isResize(expr) || !readsComputed(expr)) {
      continue;
    }
    auto* old = expr->output(0)->as<TensorView>();
    const std::vector<Expr*> readers = fusion_->usesOf(old);
    // A resize of a resize is part of the last one's windows.
    const bool is_last =
        old->isFusionOutput() || std::any_of(readers.begin(), readers.end(),
                                             [](const Expr* reader) { return !isResize(reader); });
    if (!is_last || !hasPlainMemory(old)) {
      continue;
    }
    if (TensorView* result = throughResize(expr, Windows(axesOf(old).size()))) {
      replace(old, result);
    }
  }
  sweep();
}

void ResizePropagation::replace(TensorView* old, TensorView* with) {
  for (Expr* reader : fusion_->usesOf(old)) {
    fusion_->replaceInput(reader, old, with);
  }
  if (!old->isFusionOutput()) {
    return;
  }
  if (with->isFusionInput() || with->isFusionOutput()) {
    TensorView* copy = make_.tensor({}, IterDomain::clone(axesOf(with)), with->dtype());
    IrBuilder::createInContainer<LoadStoreOp>(fusion_, LoadStoreOpType::Set, copy, with);
    with = copy;
  }
  scheduler_utils::handOverOutput(fusion_, old, with);
}

void ResizePropagation::sweep() {
  const std::vector<Expr*> alive = fusion_->exprs();
  const std::unordered_set<const Expr*> kept(alive.begin(), alive.end());
  std::vector<Expr*> dead;
  for (const auto& expr : fusion_->allExprs()) {
    if (kept.count(expr.get()) == 0 && !tensorOutputs(expr.get()).empty()) {
      dead.push_back(expr.get());
    }
  }
  for (Expr* expr : dead) {
    fusion_->removeExpr(expr);
  }
}

bool resizesComputed(const Fusion& fusion) {
  const std::vector<Expr*> exprs = fusion.exprs();
  return std::any_of(exprs.begin(), exprs.end(),
                     [](const Expr* expr) { return isResize(expr) && readsComputed(expr); });
}

void propagateResizeToInputs(Fusion* fusion, bool reads_at_indices) {
  FusionGuard guard(fusion);
  ResizePropagation(fusion, reads_at_indices).run();
}

}  // namespace nvfuser::scheduler_tools
