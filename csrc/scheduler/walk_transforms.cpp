/// What a transform makes of a list of axes (replay_loop.h).
#include <algorithm>

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

}  // namespace nvfuser
