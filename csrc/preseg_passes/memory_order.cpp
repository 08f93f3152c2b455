#include <preseg_passes/memory_order.h>

#include <algorithm>
#include <numeric>

#include <id_model/id_graph.h>
#include <ops/axes.h>

namespace nvfuser::preseg_passes {

namespace {

size_t positionOf(const std::vector<IterDomain*>& list, const IterDomain* id) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), id) - list.begin());
}

/// Whether the order in memory is the logical one, or a permutation of it.
bool isPermutation(const TensorView* tv) {
  const std::vector<IterDomain*>& logical = tv->getLogicalDomain();
  const auto& memory = tv->getMaybeAllocationDomain();
  return std::all_of(memory.begin(), memory.end(), [&](const IterDomain* id) {
    return positionOf(logical, id) < logical.size();
  });
}

class MemoryOrders {
 public:
  explicit MemoryOrders(Fusion& fusion) : fusion_(fusion), exact_(fusion, IdGraph::Mode::Exact) {}

  void give(TensorView* out) const {
    const std::vector<IterDomain*> axes = ops::axesOf(out);
    std::optional<std::vector<size_t>> order;
    size_t most = 0;
    bool agreed = true;
    for (const Val* input : fusion_.inputs()) {
      if (!input->isA<TensorView>()) {
        continue;
      }
      const auto* tv = input->as<TensorView>();
      const size_t shared = numShared(tv, axes);
      if (shared == 0 || shared < most) {
        continue;
      }
      std::optional<std::vector<size_t>> like = orderLike(tv, axes);
      agreed = shared > most || (agreed && like == order);
      most = shared;
      order = std::move(like);
    }
    if (!order || !agreed || std::is_sorted(order->begin(), order->end())) {
      return;
    }
    std::vector<IterDomain*> allocation;
    for (size_t place : *order) {
      allocation.push_back(axes[place]);
    }
    for (IterDomain* id : out->getLogicalDomain()) {
      if (id->isReduction()) {
        allocation.push_back(id);
      }
    }
    Contiguity contiguity = TensorDomain::getContiguityFilledWith(allocation, true);
    out->setAllocationDomain(std::move(allocation), std::move(contiguity));
  }

 private:
  bool isAxisOf(const TensorView* tv, const IterDomain* id) const {
    const std::vector<IterDomain*> axes = ops::axesOf(tv);
    return std::any_of(axes.begin(), axes.end(),
                       [&](const IterDomain* own) { return exact_.mapped(own, id); });
  }

  /// Axes with elements of their own that `tv` has, too.
  size_t numShared(const TensorView* tv, const std::vector<IterDomain*>& axes) const {
    return static_cast<size_t>(std::count_if(axes.begin(), axes.end(), [&](const IterDomain* id) {
      return !id->isBroadcast() && isAxisOf(tv, id);
    }));
  }

  /// The places of `axes`, outermost first, as `tv` has them in memory. Broadcast axes stay before
  /// the axis that follows them. Nothing if `tv` has not all of them.
  std::optional<std::vector<size_t>> orderLike(const TensorView* tv,
                                               const std::vector<IterDomain*>& axes) const {
    if (!isPermutation(tv)) {
      return std::nullopt;
    }
    std::vector<size_t> order;
    for (const IterDomain* id : TensorDomain::noReductions(tv->getMaybeAllocationDomain())) {
      for (size_t i = 0; i < axes.size(); ++i) {
        if (!axes[i]->isBroadcast() && exact_.mapped(id, axes[i]) &&
            std::find(order.begin(), order.end(), i) == order.end()) {
          order.push_back(i);
        }
      }
    }
    const auto iterated = std::count_if(axes.begin(), axes.end(),
                                        [](const IterDomain* id) { return !id->isBroadcast(); });
    if (static_cast<size_t>(iterated) != order.size()) {
      return std::nullopt;
    }
    if (!tv->hasAllocation() || std::is_sorted(order.begin(), order.end())) {
      std::vector<size_t> plain(axes.size());
      std::iota(plain.begin(), plain.end(), size_t{0});
      return plain;
    }
    for (size_t i = axes.size(); i-- > 0;) {
      if (axes[i]->isBroadcast()) {
        const auto next = std::find(order.begin(), order.end(), i + 1);
        order.insert(next, i);
      }
    }
    return order;
  }

  Fusion& fusion_;
  IdGraph exact_;
};

}  // namespace

void inferMemoryOrder(Fusion& fusion) {
  const bool any = std::any_of(fusion.inputs().begin(), fusion.inputs().end(), [](const Val* in) {
    return in->isA<TensorView>() && in->as<TensorView>()->hasAllocation();
  });
  if (!any) {
    return;
  }
  const MemoryOrders orders(fusion);
  for (Val* output : fusion.outputs()) {
    auto* out = output->as<TensorView>();
    if (!out->isFusionInput() && !out->hasAllocation() &&
        fusion.getOutputAlias(out).aliased_io == nullptr) {
      orders.give(out);
    }
  }
}

}  // namespace nvfuser::preseg_passes
