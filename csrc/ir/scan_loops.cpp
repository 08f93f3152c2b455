#include <ir/scan_loops.h>

#include <algorithm>

namespace nvfuser {

const ScanOp* scanOf(const TensorView* tv) {
  const Expr* def = tv->definition();
  return def != nullptr && def->isA<ScanOp>() ? def->as<ScanOp>() : nullptr;
}

ScanLoops scanLoops(const TensorView* scanned) {
  ScanLoops result;
  const ScanOp* op = scanOf(scanned);
  const std::vector<IterDomain*> axes = TensorDomain::noReductions(scanned->getMaybeRootDomain());
  if (op == nullptr || axes.empty()) {
    return result;
  }
  // Axes that the scanned one has become, in its order.
  std::vector<const Val*> parts{axes[static_cast<size_t>(op->dim())]};
  const auto placeOf = [&](const Val* id) { return std::find(parts.begin(), parts.end(), id); };
  for (const Expr* expr : scanned->domain()->allExprs()) {
    if (const auto* split = dynamic_cast<const Split*>(expr)) {
      if (auto place = placeOf(split->in()); place != parts.end()) {
        *place = split->outer();
        parts.insert(placeOf(split->outer()) + 1, split->inner());
      }
      continue;
    }
    const auto* merge = dynamic_cast<const Merge*>(expr);
    const bool touches = std::any_of(expr->inputs().begin(), expr->inputs().end(),
                                     [&](const Val* in) { return placeOf(in) != parts.end(); });
    if (!touches) {
      continue;
    }
    auto outer = merge != nullptr ? placeOf(merge->outer()) : parts.end();
    if (outer == parts.end() || outer + 1 == parts.end() || *(outer + 1) != merge->inner()) {
      result.broken = text("its axis ", axes[static_cast<size_t>(op->dim())],
                           " is mixed with others in ", expr->toInlineString());
      return result;
    }
    *outer = merge->out();
    parts.erase(outer + 1);
  }
  const std::vector<IterDomain*>& loops = scanned->getLoopDomain();
  for (const Val* part : parts) {
    const auto loop = std::find(loops.begin(), loops.end(), part);
    if (loop == loops.end()) {
      result.broken = text("none of its loops is over ", part->as<IterDomain>());
      return result;
    }
    result.positions.push_back(static_cast<int>(loop - loops.begin()));
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    if (result.positions[i] < result.positions[i - 1]) {
      result.broken = text("its loop over ", parts[i]->as<IterDomain>(),
                           " is outside of that over ", parts[i - 1]->as<IterDomain>());
      return result;
    }
  }
  return result;
}

int64_t scanOperandPosition(const TensorView* scanned) {
  bool among_threads = false;
  for (int position : scanLoops(scanned).positions) {
    const bool thread = isParallelTypeThreadDim(scanned->axis(position)->getParallelType());
    if (among_threads && !thread) {
      return position;
    }
    among_threads |= thread;
  }
  return scanned->nDims();
}

std::vector<bool> foldedLoops(const TensorView* tv) {
  std::vector<bool> folded;
  for (const IterDomain* id : tv->getLoopDomain()) {
    folded.push_back(id->isReduction());
  }
  if (scanOf(tv) != nullptr) {
    for (int position : scanLoops(tv).positions) {
      folded[static_cast<size_t>(position)] = true;
    }
  }
  return folded;
}

}  // namespace nvfuser
