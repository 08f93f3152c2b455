// Fusion::rollBack: the graph as it was at a mark, in time by what was added since.
#include <algorithm>

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
    // Told by their numbers: there may be no memory for a list of them.
    const auto is_added = [&](const Val* val) {
      return val->name() >= mark.val_names[static_cast<size_t>(val->vtype())];
    };
    std::erase_if(constants_, [&](const auto& entry) { return is_added(entry.second); });
    std::erase_if(aliases_, [&](const auto& entry) { return is_added(entry.first); });
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
