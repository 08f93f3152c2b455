#include <id_model/axes_before.h>

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

std::vector<Expr*> transformsBefore(const std::vector<IterDomain*>& ends,
                                    const std::vector<IterDomain*>& stop) {
  const std::unordered_set<const Val*> stops(stop.begin(), stop.end());
  std::vector<Expr*> sorted;
  std::unordered_set<const Expr*> visited;
  std::unordered_set<const Expr*> done;
  for (IterDomain* end : ends) {
    std::vector<std::pair<IterDomain*, bool>> open{{end, false}};
    while (!open.empty()) {
      auto [id, inputs_done] = open.back();
      open.pop_back();
      Expr* def = stops.count(id) != 0 ? nullptr : id->definition();
      if (def == nullptr) {
        continue;
      }
      if (inputs_done) {
        if (done.insert(def).second) {
          sorted.push_back(def);
        }
        continue;
      }
      if (!visited.insert(def).second) {
        continue;
      }
      open.emplace_back(id, true);
      for (auto in = def->inputs().rbegin(); in != def->inputs().rend(); ++in) {
        open.emplace_back((*in)->as<IterDomain>(), false);
      }
    }
  }
  return sorted;
}

std::vector<const IterDomain*> axesBefore(const std::vector<const IterDomain*>& ends,
                                          const std::vector<IterDomain*>& stop) {
  std::vector<const IterDomain*> axes;
  std::unordered_set<const Val*> seen;
  const auto add = [&](const Val* id) {
    if (seen.insert(id).second) {
      axes.push_back(id->as<IterDomain>());
    }
  };
  std::for_each(ends.begin(), ends.end(), add);
  for (size_t next = 0; next < axes.size(); ++next) {
    const Expr* def = axes[next]->definition();
    if (def != nullptr && std::find(stop.begin(), stop.end(), axes[next]) == stop.end()) {
      std::for_each(def->inputs().begin(), def->inputs().end(), add);
    }
  }
  return axes;
}

}  // namespace nvfuser
