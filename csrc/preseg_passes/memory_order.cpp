#include <preseg_passes/memory_order.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/external_ops.h>
#include <ops/axes.h>

namespace nvfuser::preseg_passes {

namespace {

using Axes = std::vector<IterDomain*>;

/// Axes without reductions, outermost first in memory.
struct Order {
  Axes axes;
  bool behind_reshape = false;
};

bool isAmong(const Axes& list, const IterDomain* id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

/// As the tensor's domain says; nothing if memory has other axes than the tensor.
std::optional<Order> orderOfDomain(const TensorView* tv) {
  const Axes logical = ops::axesOf(tv);
  Axes memory = TensorDomain::noReductions(tv->getMaybeAllocationDomain());
  if (memory.size() != logical.size() ||
      !std::all_of(memory.begin(), memory.end(),
                   [&](const IterDomain* id) { return isAmong(logical, id); })) {
    return std::nullopt;
  }
  return Order{std::move(memory)};
}

/// Axes of `list` in the order of `wanted`'s; broadcast axes, which it lacks, stay in front of the
/// axis that follows them.
Axes withBroadcasts(Axes wanted, const Axes& list) {
  for (size_t i = list.size(); i-- > 0;) {
    if (!isAmong(wanted, list[i])) {
      const auto next =
          i + 1 < list.size() ? std::find(wanted.begin(), wanted.end(), list[i + 1]) : wanted.end();
      wanted.insert(next, list[i]);
    }
  }
  return wanted;
}

/// The root axes of `out` that `in` has elements along, as `in` has them in memory.
Axes carried(const Expr* expr, const TensorView* in, const Order& order, const TensorView* out) {
  const auto pairs = mapAxes(expr, in, out);
  Axes axes;
  for (const IterDomain* id : order.axes) {
    const auto found = std::find_if(pairs.begin(), pairs.end(),
                                    [&](const auto& pair) { return pair.first == id; });
    if (found != pairs.end() && !id->isBroadcast() && !found->second->isBroadcast() &&
        !isAmong(axes, found->second)) {
      axes.push_back(found->second);
    }
  }
  return axes;
}

/// Through the transforms between the root and the logical domain of `out`; false where they merge
/// axes that are no neighbours in memory.
bool transform(const TensorView* out, Order& order) {
  Axes& axes = order.axes;
  for (const Expr* expr : out->domain()->allExprs()) {
    const auto in = std::find(axes.begin(), axes.end(), expr->input(0));
    if (in == axes.end()) {
      return false;
    }
    if (const auto* merge = dynamic_cast<const Merge*>(expr)) {
      if (in + 1 == axes.end() || *(in + 1) != merge->inner()) {
        return false;
      }
      *axes.erase(in) = merge->out();
      order.behind_reshape = true;
    } else if (const auto* split = dynamic_cast<const Split*>(expr)) {
      *in = split->inner();
      axes.insert(in, split->outer());
      order.behind_reshape = true;
    } else if (const auto* resize = dynamic_cast<const Resize*>(expr)) {
      *in = resize->out();
    } else {
      return false;
    }
  }
  return true;
}

class MemoryOrders {
 public:
  explicit MemoryOrders(Fusion& fusion) : fusion_(fusion) {}

  void run() {
    findLibraryOperands();
    for (const Val* input : fusion_.inputs()) {
      if (const auto* tv = dynamic_cast<const TensorView*>(input)) {
        note(tv, orderOfDomain(tv));
      }
    }
    for (const Expr* expr : fusion_.exprs()) {
      for (TensorView* out : tensorOutputs(expr)) {
        if (out->hasAllocation() || isExternalOp(expr)) {
          note(out, orderOfDomain(out));
        } else if (std::optional<Order> order = orderOfResult(expr, out)) {
          give(out, *order);
          note(out, std::move(order));
        }
      }
    }
  }

 private:
  /// Libraries, and kernels of scatters, go through their operands as these are defined; what such
  /// a kernel computes them from is read so, too.
  void findLibraryOperands() {
    const std::vector<Expr*> exprs = fusion_.exprs();
    for (auto it = exprs.rbegin(); it != exprs.rend(); ++it) {
      const std::vector<TensorView*> outs = tensorOutputs(*it);
      const bool leads_there = std::any_of(outs.begin(), outs.end(), [&](const TensorView* out) {
        return of_libraries_.count(out) != 0;
      });
      if (isExternalOp(*it) || (leads_there && !isReduction(*it))) {
        for (const TensorView* in : tensorInputs(*it)) {
          of_libraries_.insert(in);
        }
      }
    }
  }

  void note(const TensorView* tv, std::optional<Order> order) {
    if (order.has_value()) {
      known_[tv] = std::move(*order);
    }
  }

  std::optional<Order> orderOfResult(const Expr* expr, const TensorView* out) const {
    const Axes root = TensorDomain::noReductions(out->getMaybeRootDomain());
    const auto iterated = std::count_if(root.begin(), root.end(),
                                        [](const IterDomain* id) { return !id->isBroadcast(); });
    std::optional<Order> result;
    for (const TensorView* in : tensorInputs(expr)) {
      const auto order = known_.find(in);
      if (order == known_.end()) {
        continue;
      }
      Axes axes = carried(expr, in, order->second, out);
      std::erase_if(axes, [](const IterDomain* id) { return id->isReduction(); });
      if (static_cast<std::ptrdiff_t>(axes.size()) != iterated) {
        continue;
      }
      if (result.has_value() && result->axes != axes) {
        return orderOfDomain(out);
      }
      result = {std::move(axes), order->second.behind_reshape};
    }
    if (result.has_value()) {
      result->axes = withBroadcasts(std::move(result->axes), root);
      if (!transform(out, *result)) {
        return std::nullopt;
      }
    }
    return result;
  }

  void give(TensorView* out, const Order& order) const {
    const Axes plain = ops::axesOf(out);
    Axes iterated = order.axes;
    Axes as_defined = plain;
    for (Axes* axes : {&iterated, &as_defined}) {
      std::erase_if(*axes, [](const IterDomain* id) { return id->isBroadcast(); });
    }
    const bool stays = out->isFusionOutput() ? order.behind_reshape ||
                                                   fusion_.getOutputAlias(out).aliased_io != nullptr
                                             : of_libraries_.count(out) != 0;
    if (iterated == as_defined || stays) {
      return;
    }
    Axes allocation = order.axes;
    for (IterDomain* id : out->getLogicalDomain()) {
      if (id->isReduction()) {
        allocation.push_back(id);
      }
    }
    Contiguity contiguity = TensorDomain::getContiguityFilledWith(allocation, true);
    out->setAllocationDomain(std::move(allocation), std::move(contiguity));
  }

  Fusion& fusion_;
  std::unordered_map<const TensorView*, Order> known_;
  std::unordered_set<const TensorView*> of_libraries_;
};

}  // namespace

void inferMemoryOrder(Fusion& fusion) {
  const bool any = std::any_of(fusion.inputs().begin(), fusion.inputs().end(), [](const Val* in) {
    return in->isA<TensorView>() && in->as<TensorView>()->hasAllocation();
  });
  if (any) {
    MemoryOrders(fusion).run();
  }
}

}  // namespace nvfuser::preseg_passes
