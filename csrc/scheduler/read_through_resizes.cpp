/// Slices, pads and concatenations through windows: other windows of what they read, and choices
/// by the index.
#include <ir/builder.h>
#include <scheduler/propagate_resizes.h>

namespace nvfuser::scheduler_tools {

/// The pads that a concatenation joins; nothing if one of its operands is none.
std::vector<const PadOp*> padsOf(const CatOp* cat) {
  std::vector<const PadOp*> pads;
  for (const Val* in : cat->inputs()) {
    const Expr* def = in->definition();
    if (def == nullptr || !def->isA<PadOp>()) {
      return {};
    }
    pads.push_back(def->as<PadOp>());
  }
  return pads;
}

TensorView* ResizePropagation::throughResize(Expr* def, const Windows& windows) {
  const auto* tv = def->output(0)->as<TensorView>();
  switch (def->kind()) {
    case ExprKind::SliceOp: {
      const auto* op = def->as<SliceOp>();
      const std::vector<IterDomain*> axes = axesOf(tv);
      Windows moved = windows;
      for (size_t i = 0; i < axes.size(); ++i) {
        if (isResized(tv, i)) {
          const auto step = op->step(i)->value().as<int64_t>();
          moved[i] = make_.behind(windows[i], axes[i], op->start(i), step, true);
        }
      }
      return at(op->in()->as<TensorView>(), std::move(moved));
    }
    case ExprKind::PadOp:
      return padded(def->as<PadOp>(), windows, true);
    default:
      return joined(def->as<CatOp>(), windows);
  }
}

bool ResizePropagation::isResized(const TensorView* tv, size_t i) {
  const Expr* def = axesOf(tv)[i]->definition();
  return def != nullptr && def->isA<Resize>();
}

TensorView* ResizePropagation::padded(const PadOp* op, const Windows& windows, bool exact) {
  const auto* tv = op->out()->as<TensorView>();
  const std::vector<IterDomain*> axes = axesOf(tv);
  const std::vector<IterDomain*> own = axesOf(op->in()->as<TensorView>());
  Windows moved = windows;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (isResized(tv, i)) {
      const int64_t step = axes[i]->definition()->as<Resize>()->step();  // of a window of an input
      Val* start = SimplifyingIrBuilder::negExpr(op->leftWidth(i));
      moved[i] = make_.behind(windows[i], axes[i], start, step, false);
    }
  }
  TensorView* result = at(op->in()->as<TensorView>(), moved);
  if (result == nullptr || !exact) {
    return result;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!isResized(tv, i)) {
      continue;
    }
    result = make_.whereInside(result, i, moved[i], own[i]->getMaybeExpandedExtent(), op->value());
  }
  return result;
}

TensorView* ResizePropagation::joined(const CatOp* op, const Windows& windows) {
  const std::vector<const PadOp*> pads = padsOf(op);
  if (pads.empty()) {
    return nullptr;
  }
  const auto dim = static_cast<size_t>(op->concatenatedDim());
  TensorView* result = nullptr;
  for (size_t k = pads.size(); k-- > 0;) {
    TensorView* part = padded(pads[k], windows, false);
    if (part == nullptr) {
      return nullptr;
    }
    if (result == nullptr) {
      result = part;
      continue;
    }
    Val* end = pads[k + 1]->leftWidth(dim);
    result = make_.where(make_.compare(result, dim, windows[dim], end, false), part, result);
  }
  return result;
}

}  // namespace nvfuser::scheduler_tools
