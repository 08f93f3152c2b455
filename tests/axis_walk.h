/// Walks over the elements of a tensor of constant shape, and from its logical axes back to its
/// root axes.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include <ir/fusion.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

/// Positions on the root axes, walked back from positions on the logical ones.
inline std::unordered_map<const Val*, int64_t> walkBack(const TensorView* tv,
                                                        const std::vector<int64_t>& position) {
  std::unordered_map<const Val*, int64_t> at;
  for (size_t i = 0; i < position.size(); ++i) {
    at[tv->getLogicalDomain()[i]] = position[i];
  }
  const std::vector<Expr*> transforms = tv->domain()->allExprs();
  for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
    if ((*it)->isA<Split>()) {
      auto* split = (*it)->as<Split>();
      const int64_t length = split->inner()->extent()->value().as<int64_t>();
      at[split->in()] = at.at(split->outer()) * length + at.at(split->inner());
    } else if ((*it)->isA<Merge>()) {
      auto* merge = (*it)->as<Merge>();
      const int64_t length = merge->inner()->extent()->value().as<int64_t>();
      at[merge->outer()] = at.at(merge->out()) / length;
      at[merge->inner()] = at.at(merge->out()) % length;
    } else {
      auto* resize = (*it)->as<Resize>();
      at[resize->in()] = at.at(resize->out()) - resize->leftExpand()->value().as<int64_t>();
    }
  }
  return at;
}

inline int64_t extentAt(const std::vector<IterDomain*>& ids, size_t i) {
  return ids[i]->extent()->value().as<int64_t>();
}

/// Calls `body` with the row-major number and the position of every element.
inline void forEachElement(const TensorView* tv,
                           const std::function<void(int64_t, const std::vector<int64_t>&)>& body) {
  const std::vector<IterDomain*>& ids = tv->getLogicalDomain();
  std::vector<int64_t> position(ids.size(), 0);
  for (int64_t number = 0;; ++number) {
    body(number, position);
    size_t i = ids.size();
    while (i > 0 && ++position[i - 1] == extentAt(ids, i - 1)) {
      position[--i] = 0;
    }
    if (i == 0) {
      return;
    }
  }
}

}  // namespace nvfuser
