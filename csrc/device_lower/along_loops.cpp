#include <device_lower/along_loops.h>

#include <algorithm>
#include <set>

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
  // The logical axes, and what they were made from.
  std::set<const Val*> logical(tv->getLogicalDomain().begin(), tv->getLogicalDomain().end());
  const std::vector<Expr*> transforms = tv->domain()->allExprs();
  for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
    const std::vector<Val*>& outputs = (*it)->outputs();
    AlongLoops::Undone undone{*it, {}};
    for (const Val* out : outputs) {
      undone.made.push_back(besideOf(out));
    }
    const auto leadTo = [&](const Expr* expr) {
      return expr != nullptr && expr->kind() == (*it)->kind() &&
             std::equal(undone.made.begin(), undone.made.end(), expr->outputs().begin(),
                        [&](const IterDomain* id, const Val* out) {
                          return id != nullptr && exact.mapped(id, out->as<IterDomain>());
                        });
    };
    if (!leadTo(*it)) {
      undone.expr = undone.made[0] != nullptr ? undone.made[0]->definition() : nullptr;
      if (!leadTo(undone.expr)) {
        continue;
      }
    }
    for (size_t i = 0; i < (*it)->inputs().size(); ++i) {
      result.axes.emplace_back((*it)->input(i)->as<IterDomain>(),
                               undone.expr->input(i)->as<IterDomain>());
    }
    if (logical.count(outputs[0]) == 0) {
      result.schedule.push_back(std::move(undone));
    } else {
      logical.insert((*it)->inputs().begin(), (*it)->inputs().end());
    }
  }
  return result;
}

}  // namespace nvfuser
