#include <preseg_passes/cancel_permutes.h>

#include <algorithm>
#include <map>
#include <optional>

#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr int64_t kMostOperations = 48;

using Order = std::vector<size_t>;  ///< as `permutationOf`

bool isTurnedBack(const Order& order, const Order& first) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order.size() != first.size() || first[order[i]] != i) {
      return false;
    }
  }
  return true;
}

/// Tensors with their axes in another order, made without a permute of what is computed.
class Turned {
 public:
  /// `turns_input`: one input may be read in another order.
  Turned(Order order, bool turns_input) : order_(std::move(order)), turns_input_(turns_input) {}

  /// `tv` in that order; null where there is no way.
  TensorView* of(TensorView* tv) {
    const auto known = made_.find(tv);
    if (known != made_.end()) {
      return known->second;
    }
    TensorView* turned = computed(tv);
    made_.emplace(tv, turned);
    return turned;
  }

 private:
  TensorView* computed(TensorView* tv) {
    if (ops::axesOf(tv).size() != order_.size()) {
      return nullptr;
    }
    const Expr* def = tv->isFusionInput() ? nullptr : tv->definition();
    TensorView* turned = def == nullptr ? nullptr : computedBy(def, tv);
    turned = turned != nullptr ? turned : spreadAlone(tv);
    if (turned == nullptr && def == nullptr && turns_input_) {
      turns_input_ = false;
      return viewOf(tv);
    }
    return turned;
  }

  /// An input in the other order, which lies where the input lies. Null if that is split in axes.
  TensorView* viewOf(TensorView* input) const {
    TensorView* view = permute(input, std::vector<int64_t>(order_.begin(), order_.end()));
    const std::vector<IterDomain*>& logical = input->getLogicalDomain();
    std::vector<IterDomain*> memory;
    for (const IterDomain* id : input->getMaybeAllocationDomain()) {
      const auto at = std::find(logical.begin(), logical.end(), id);
      const auto axis =
          std::find(order_.begin(), order_.end(), static_cast<size_t>(at - logical.begin()));
      if (at == logical.end() || axis == order_.end()) {
        return nullptr;
      }
      memory.push_back(view->axis(axis - order_.begin()));
    }
    view->setAllocationDomain(memory, input->getContiguity());
    return view;
  }

  TensorView* computedBy(const Expr* def, const TensorView* tv) {
    if (const auto first = permutationOf(def)) {
      return isTurnedBack(order_, *first) ? def->input(0)->as<TensorView>() : nullptr;
    }
    if (def->isOneOf<UnaryOp, BinaryOp, TernaryOp>()) {
      return isTaken() ? applyToOthers(def, [this](TensorView* operand) { return of(operand); })
                       : nullptr;
    }
    if (def->isA<BroadcastOp>()) {
      return spread(def->as<BroadcastOp>());
    }
    if (def->isA<ExpandOp>()) {
      TensorView* in = of(def->input(0)->as<TensorView>());
      return in != nullptr && isTaken() ? expand(in, sizesOf(tv)) : nullptr;
    }
    if (def->isA<FullOp>()) {
      return isTaken() ? full(sizesOf(tv), def->as<FullOp>()->getFillValue(), tv->dtype())
                       : nullptr;
    }
    return isPlainCopy(def) ? of(def->input(0)->as<TensorView>()) : nullptr;
  }

  /// A tensor with elements along one axis, which comes to another place.
  TensorView* spreadAlone(TensorView* tv) {
    const std::vector<IterDomain*> axes = ops::axesOf(tv);
    std::vector<bool> flags;
    int64_t own = 0;
    for (const size_t axis : order_) {
      flags.push_back(axes[axis]->isBroadcast());
      own += axes[axis]->isBroadcast() ? 0 : 1;
      if (axes[axis]->hasExpandedExtent()) {
        return nullptr;
      }
    }
    std::vector<bool> squeezed;
    for (const IterDomain* id : axes) {
      squeezed.push_back(id->isBroadcast());
    }
    return own == 1 && isTaken() ? broadcast(squeeze(tv, squeezed), flags) : nullptr;
  }

  /// Of an operand whose axes stay in their order.
  TensorView* spread(const BroadcastOp* op) {
    std::vector<bool> flags;
    std::vector<size_t> kept;
    for (const size_t axis : order_) {
      flags.push_back(op->isBroadcastDim(axis));
      if (!op->isBroadcastDim(axis)) {
        kept.push_back(axis);
      }
    }
    return std::is_sorted(kept.begin(), kept.end()) && isTaken()
               ? broadcast(op->in()->as<TensorView>(), flags)
               : nullptr;
  }

  std::vector<Val*> sizesOf(const TensorView* tv) const {
    const std::vector<IterDomain*> axes = ops::axesOf(tv);
    std::vector<Val*> result;
    for (const size_t axis : order_) {
      result.push_back(ops::extentOf(axes[axis]));
    }
    return result;
  }

  bool isTaken() { return --left_ >= 0; }

  const Order order_;
  bool turns_input_;
  int64_t left_ = kMostOperations;
  std::map<const TensorView*, TensorView*> made_;
};

}  // namespace

void cancelPermutes(Fusion& fusion) {
  FusionGuard guard(&fusion);
  for (const Expr* expr : fusion.exprs()) {
    const std::optional<Order> order = permutationOf(expr);
    auto* in = order ? expr->input(0)->as<TensorView>() : nullptr;
    if (in == nullptr || in->isFusionInput() ||
        !in->definition()->isOneOf<UnaryOp, BinaryOp, TernaryOp>()) {
      continue;
    }
    auto* old = expr->output(0)->as<TensorView>();
    TensorView* turned = Turned(*order, endsInReductions(old)).of(in);
    if (turned != nullptr && sameForm(old, turned)) {
      replaceTensor(old, turned);
    }
  }
}

}  // namespace nvfuser::preseg_passes
