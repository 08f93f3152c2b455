#include <device_lower/axes_read_elsewhere.h>

#include <ir/axis_map.h>

namespace nvfuser {

std::unordered_set<const Val*> axesReadElsewhere(const Leaf& reader, const TensorView* tv) {
  std::unordered_set<const Val*> result;
  for (const IterDomain* id : TensorDomain::noReductions(tv->getLogicalDomain())) {
    if (!id->isBroadcast()) {
      result.insert(id);
    }
  }
  for (const auto& [p, c] : mapAxes(reader.expr, tv, reader.out)) {
    result.erase(p);
  }
  return result;
}

bool isMadeOf(const Val* id, const std::unordered_set<const Val*>& axes) {
  std::vector<const Val*> open{id};
  std::unordered_set<const Val*> seen;
  while (!open.empty()) {
    const Val* axis = open.back();
    open.pop_back();
    if (axes.count(axis) != 0) {
      return true;
    }
    if (const Expr* def = axis->definition(); def != nullptr && seen.insert(axis).second) {
      open.insert(open.end(), def->inputs().begin(), def->inputs().end());
    }
  }
  return false;
}

}  // namespace nvfuser
