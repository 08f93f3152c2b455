// Fusion::rollBack: the graph as it was at a mark, in time by what was added since.
#include <algorithm>
#include <unordered_set>

#include <ir/fusion.h>

namespace nvfuser {

Fusion::Mark Fusion::mark() const {
  Mark mark{vals_.size(), exprs_.size(), outputs_.size(), size_requirements_.size(), {}, {}};
  std::copy(std::begin(val_names_), std::end(val_names_), std::begin(mark.val_names));
  mark.expr_names = expr_names_;
  return mark;
}

void Fusion::rollBack(const Mark& mark) noexcept {
  while (exprs_.size() > mark.exprs) {  // readers before what they read
    removeExpr(exprs_.back().get());
  }
  if (vals_.size() > mark.vals) {
    std::unordered_set<const Val*> added;
    for (size_t i = mark.vals; i < vals_.size(); ++i) {
      added.insert(vals_[i].get());
    }
    std::erase_if(constants_, [&](const auto& entry) { return added.count(entry.second) != 0; });
    std::erase_if(aliases_, [&](const auto& entry) { return added.count(entry.first) != 0; });
  }
  for (size_t i = mark.outputs; i < outputs_.size(); ++i) {
    outputs_[i]->is_fusion_output_ = false;
  }
  outputs_.resize(mark.outputs);
  size_requirements_.resize(mark.size_requirements);
  vals_.resize(mark.vals);
  std::copy(std::begin(mark.val_names), std::end(mark.val_names), std::begin(val_names_));
  expr_names_ = mark.expr_names;
}

}  // namespace nvfuser
