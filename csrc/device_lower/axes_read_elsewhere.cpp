#include <device_lower/axes_read_elsewhere.h>

#include <algorithm>

#include <id_model/axes_before.h>
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

bool isMadeOf(const IterDomain* id, const std::unordered_set<const Val*>& axes) {
  const std::vector<const IterDomain*> before = axesBefore({id}, {});
  return std::any_of(before.begin(), before.end(),
                     [&](const IterDomain* axis) { return axes.count(axis) != 0; });
}

}  // namespace nvfuser
