#include <ir/last_task.h>

#include <algorithm>

#include <ir/interface_nodes.h>

namespace nvfuser {

namespace {

/// Whether each task has one state: what it keeps is spread over blocks, or one element in a loop
/// of its own (a shared one may go around more often).
bool hasOneState(const TensorView* tv) {
  const auto& axes = tv->getLoopDomain();
  const int64_t shared = std::max(tv->getComputeAtPosition(), tv->getMaxProducerPosition());
  for (size_t i = 0; i < axes.size(); ++i) {
    const IterDomain* id = axes[i];
    const bool is_one = id->isBroadcast() || id->extent()->isOneInt();
    const bool alone = is_one && static_cast<int64_t>(i) >= shared;
    if (id->isBlockDim() ? id->isBroadcast() || id->isClusteredBlockDim()
                         : !id->isReduction() && !alone) {
      return false;
    }
  }
  return true;
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
    for (const Val* out : expr->outputs()) {
      if (!out->isA<TensorView>()) {
        continue;
      }
      const auto* tv = out->as<TensorView>();
      const bool reduced = isReducedOverBlocks(tv);
      const bool shared = tv->getMemoryType() == MemoryType::Global || tv->isFusionOutput();
      if ((shared && !tv->uses().empty()) || (reduced && (last != nullptr || !hasOneState(tv))) ||
          (last != nullptr && !followsInOneTask(tv, last->output(0)->as<TensorView>()))) {
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
