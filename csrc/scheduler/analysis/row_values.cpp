#include <scheduler/analysis/row_values.h>

#include <algorithm>

#include <ir/internal_nodes.h>

namespace nvfuser {

void holdRowValues(const std::vector<TensorView*>& tensors, int64_t position,
                   std::unordered_map<const TensorView*, int64_t>& held) {
  for (const TensorView* tv : tensors) {
    if (tv->isFusionInput() || tv->isFusionOutput() || isReduction(tv->definition()) ||
        tv->nDims() <= position) {
      continue;
    }
    const auto& loops = tv->getLoopDomain();
    const bool is_shared = std::all_of(loops.begin() + position, loops.end(),
                                       [](const IterDomain* id) { return id->isBroadcast(); }) &&
                           std::any_of(loops.begin(), loops.begin() + position,
                                       [](const IterDomain* id) { return !id->isBroadcast(); });
    if (is_shared) {
      held.emplace(tv, position);
    }
  }
}

}  // namespace nvfuser
