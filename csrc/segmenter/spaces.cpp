#include <segmenter/spaces.h>

#include <algorithm>

#include <ir/internal_nodes.h>

namespace nvfuser {

std::set<int> Spaces::sourcesOf(const std::vector<IterDomain*>& axes, bool with_reductions) {
  std::set<int> all;
  for (const IterDomain* id : axes) {
    if (id->isBroadcast() || (id->isReduction() && !with_reductions)) {
      continue;
    }
    const std::set<int>& found = sourcesOf(graph_.classOf(id));
    all.insert(found.begin(), found.end());
  }
  return all;
}

const std::set<int>& Spaces::sourcesOf(int id_class) {
  std::vector<int> open{id_class};
  while (!open.empty()) {
    const int next = open.back();
    std::set<int>& mine = sources_[static_cast<size_t>(next)];
    if (!mine.empty()) {
      open.pop_back();
      continue;
    }
    std::vector<int> from;
    for (const Expr* made : graph_.definitions(next)) {
      if (made->isA<Split>() || made->isA<Merge>()) {
        for (const Val* in : made->inputs()) {
          from.push_back(graph_.classOf(in->as<IterDomain>()));
        }
        break;
      }
    }
    const size_t before = open.size();
    std::set<int> all;
    for (int source : from) {
      const std::set<int>& known = sources_[static_cast<size_t>(source)];
      // A class made of itself (an axis split and merged again) ends here.
      if (known.empty() && std::find(open.begin(), open.end(), source) == open.end()) {
        open.push_back(source);
      }
      all.insert(known.begin(), known.end());
    }
    if (open.size() == before) {
      if (all.empty()) {
        all.insert(next);
      }
      mine = std::move(all);
      open.pop_back();
    }
  }
  return sources_[static_cast<size_t>(id_class)];
}

int Spaces::number(const std::set<int>& space) {
  return numbers_.emplace(space, static_cast<int>(numbers_.size())).first->second;
}

int Spaces::signature(const std::set<int>& kept, const std::set<int>& reduced) {
  return signatures_.emplace(std::make_pair(kept, reduced), static_cast<int>(signatures_.size()))
      .first->second;
}

}  // namespace nvfuser
