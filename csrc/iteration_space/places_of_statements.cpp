// Places of the statements that a scheduled Fusion has, by its loops (places.h).
#include <algorithm>

#include <ir/axis_map.h>
#include <iteration_space/places.h>

namespace nvfuser {

Places placesOf(const Expr* expr, const LoopModel& loops, const IdGraph& exact, Symbols& symbols) {
  const std::vector<TensorView*> outputs = tensorOutputs(expr);
  std::vector<LoopAt> around;
  for (const LoopClass* loop : loops.path(outputs.front())) {
    around.push_back({loop, loop->promoted, loop->index});
  }
  return {{outputs.begin(), outputs.end()}, std::move(around), exact, symbols};
}

Places storedAt(const TensorView* tv, const LoopModel& loops, const IdGraph& exact,
                Symbols& symbols) {
  const std::vector<const LoopClass*> path = loops.path(tv);
  bool behind = false;
  std::vector<LoopAt> around;
  for (size_t i = 0; i < path.size(); ++i) {
    const IterDomain* axis = tv->getLoopDomain()[i];
    behind |= axis->isReduction();
    if (!axis->isReduction()) {
      const bool is_own = behind && !path[i]->isThread();
      around.push_back({path[i], is_own ? axis : path[i]->promoted, path[i]->index});
    }
  }
  return {{tv}, std::move(around), exact, symbols};
}

const IterDomain* ownAxis(const TensorView* tv, const LoopClass& loop) {
  for (const auto& [member, position] : loop.members) {
    if (member == tv) {
      return tv->getLoopDomain()[static_cast<size_t>(position)];
    }
  }
  return nullptr;
}

bool areOwn(const TensorView* tv, const std::vector<const LoopClass*>& loops,
            const IdGraph& exact) {
  return std::all_of(loops.begin(), loops.end(), [&](const LoopClass* loop) {
    const IterDomain* own = ownAxis(tv, *loop);
    return own != nullptr && exact.mapped(loop->promoted, own);
  });
}

}  // namespace nvfuser
