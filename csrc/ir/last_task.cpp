#include <ir/last_task.h>

#include <algorithm>

#include <ir/interface_nodes.h>

namespace nvfuser {

namespace {

/// Whether each task has one state: what it keeps is spread over blocks, or one element. (A loop
/// that it shares may go around more often all the same: lowering looks at those.)
bool hasOneState(const TensorView* tv) {
  const auto& axes = tv->getLoopDomain();
  return std::all_of(axes.begin(), axes.end(), [](const IterDomain* id) {
    if (id->isBlockDim()) {
      return !id->isBroadcast() && !id->isClusteredBlockDim();
    }
    return id->isReduction() || id->isBroadcast() || id->extent()->isOneInt();
  });
}

bool isBoundTo(const TensorView* tv, ParallelType type) {
  const auto& axes = tv->getLoopDomain();
  return std::any_of(axes.begin(), axes.end(),
                     [&](const IterDomain* id) { return id->getParallelType() == type; });
}

/// Whether a task that is not told which it is computes `tv` from the reduction's result.
bool followsInOneTask(const TensorView* tv, const TensorView* reduced) {
  const auto& axes = tv->getLoopDomain();
  const bool plain = std::none_of(axes.begin(), axes.end(), [](const IterDomain* id) {
    return id->isReduction() || id->getParallelType() == ParallelType::Vectorize ||
           id->getParallelType() == ParallelType::Bulk;
  });
  const auto& spread = reduced->getLoopDomain();
  return plain && std::none_of(spread.begin(), spread.end(), [&](const IterDomain* id) {
           return id->isReduction() && id->isBlockDim() && isBoundTo(tv, id->getParallelType());
         });
}

/// The result of a reduction over blocks that has the binding: of Welford's three, one may do for
/// all, as they share their loops. Null for other operations.
const TensorView* outputOverBlocks(const Expr* expr) {
  for (const Val* out : expr->outputs()) {
    if (out->isA<TensorView>() && isReducedOverBlocks(out->as<TensorView>())) {
      return out->as<TensorView>();
    }
  }
  return nullptr;
}

}  // namespace

bool isReducedOverBlocks(const TensorView* tv) {
  const auto& axes = tv->getLoopDomain();
  return std::any_of(axes.begin(), axes.end(),
                     [](const IterDomain* id) { return id->isReduction() && id->isBlockDim(); });
}

std::optional<LastTasks> findLastTasks(const Fusion& fusion) {
  LastTasks behind;
  for (const Expr* expr : fusion.exprs()) {
    const Expr* last = nullptr;
    for (const Val* in : expr->inputs()) {
      const auto found = in->isA<TensorView>() ? behind.find(in->as<TensorView>()) : behind.end();
      if (found == behind.end()) {
        continue;
      }
      if (last != nullptr && last != found->second) {
        return std::nullopt;
      }
      last = found->second;
    }
    const bool reduced = outputOverBlocks(expr) != nullptr;
    for (const Val* out : expr->outputs()) {
      if (!out->isA<TensorView>()) {
        continue;
      }
      const auto* tv = out->as<TensorView>();
      const bool shared = tv->getMemoryType() == MemoryType::Global || tv->isFusionOutput();
      if ((shared && !tv->uses().empty()) || (reduced && (last != nullptr || !hasOneState(tv))) ||
          (last != nullptr && !followsInOneTask(tv, outputOverBlocks(last)))) {
        return std::nullopt;
      }
      if (reduced || last != nullptr) {
        behind[tv] = reduced ? expr : last;
      }
    }
  }
  return behind;
}

}  // namespace nvfuser
