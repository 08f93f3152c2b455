#include <scheduler/tools/loop_sizes.h>

#include <algorithm>

#include <id_model/axes_before.h>
#include <ir/fusion.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

LoopSizes::LoopSizes(const Fusion& fusion, const IdGraph& permissive) : permissive_(permissive) {
  for (TensorView* tv : fusion.allTvs()) {
    const auto& logical = tv->getLogicalDomain();
    if (std::any_of(logical.begin(), logical.end(), [](auto* id) { return id->isBroadcast(); })) {
      exact_.emplace(fusion, IdGraph::Mode::Exact);
      return;
    }
  }
}

std::vector<LoopGroups::Sizes> LoopSizes::of(const TensorView* tv) {
  if (!exact_) {
    return {};
  }
  std::vector<LoopGroups::Sizes> result;
  for (IterDomain* loop : tv->getLoopDomain()) {
    LoopGroups::Sizes& sizes = result.emplace_back();
    // A resized axis has a size of its own, whatever it was before.
    auto add = [&](IterDomain* id) {
      const bool is_source = id->definition() == nullptr || id->definition()->isA<Resize>();
      if (is_source && !id->isBroadcast()) {
        sizes.emplace(permissive_.classOf(id), numberOf(id));
      }
    };
    add(loop);
    for (const Expr* transform : transformsBefore({loop}, {})) {
      if (transform->isA<Resize>()) {
        continue;
      }
      for (Val* in : transform->inputs()) {
        add(in->as<IterDomain>());
      }
    }
  }
  return result;
}

int LoopSizes::numberOf(IterDomain* id) {
  std::vector<int>& known = by_class_[permissive_.classOf(id)];
  for (int size : known) {
    const IterDomain* other = axisOf(size);
    if (exact_->mapped(id, other)) {
      return size;
    }
  }
  known.push_back(static_cast<int>(axes_.size()));
  axes_.push_back(id);
  return known.back();
}

}  // namespace nvfuser
