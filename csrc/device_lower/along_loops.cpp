#include <device_lower/along_loops.h>

#include <algorithm>

namespace nvfuser {

const IterDomain* ownAxis(const TensorView* tv, const LoopClass& loop) {
  for (const auto& [member, position] : loop.members) {
    if (member == tv) {
      return tv->getLoopDomain()[static_cast<size_t>(position)];
    }
  }
  return nullptr;
}

AlongLoops alongLoops(const TensorView* tv, std::vector<OwnAndLoop> begin, const IdGraph& exact) {
  AlongLoops result{std::move(begin), {}};
  const auto besideOf = [&](const Val* id) -> const IterDomain* {
    const auto found = std::find_if(result.axes.begin(), result.axes.end(),
                                    [&](const auto& pair) { return pair.first == id; });
    return found == result.axes.end() ? nullptr : found->second;
  };
  const auto& logical = tv->getLogicalDomain();
  const std::vector<Expr*> transforms = tv->domain()->allExprs();
  for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
    const std::vector<Val*>& outputs = (*it)->outputs();
    const IterDomain* first = besideOf(outputs[0]);
    const Expr* beside = first != nullptr ? first->definition() : nullptr;
    bool same = beside != nullptr && beside->kind() == (*it)->kind();
    for (size_t i = 0; same && i < outputs.size(); ++i) {
      const IterDomain* id = besideOf(outputs[i]);
      same = id != nullptr && exact.mapped(id, beside->output(i)->as<IterDomain>());
    }
    if (!same) {
      continue;
    }
    for (size_t i = 0; i < (*it)->inputs().size(); ++i) {
      result.axes.emplace_back((*it)->input(i)->as<IterDomain>(),
                               beside->input(i)->as<IterDomain>());
    }
    if (std::find(logical.begin(), logical.end(), outputs[0]) == logical.end()) {
      result.schedule.push_back(beside);
    }
  }
  return result;
}

}  // namespace nvfuser
