/// Transforms of axes in order, and what one of them makes of a list of axes (replay_loop.h).
#include <algorithm>
#include <unordered_set>

#include <scheduler/replay_loop.h>

namespace nvfuser {

void applyTransform(std::vector<IterDomain*>& ids, const Expr* transform) {
  auto place = ids.end();
  for (Val* in : transform->inputs()) {
    auto found = std::find(ids.begin(), ids.end(), in);
    if (found == ids.end()) {
      continue;
    }
    place = place == ids.end() ? found : std::min(place, found);
  }
  if (place == ids.end()) {
    return;
  }
  std::vector<IterDomain*> outputs;
  for (Val* out : transform->outputs()) {
    outputs.push_back(out->as<IterDomain>());
  }
  place = ids.insert(place, outputs.begin(), outputs.end());
  std::erase_if(ids, [&](const IterDomain* id) {
    return std::find(transform->inputs().begin(), transform->inputs().end(), id) !=
           transform->inputs().end();
  });
}

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

}  // namespace nvfuser
