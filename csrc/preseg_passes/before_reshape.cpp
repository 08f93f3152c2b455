#include <preseg_passes/before_reshape.h>

#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr int64_t kMostBeforeReshape = 48;

}  // namespace

std::vector<Val*> shownSizes(const TensorView* tv) {
  std::vector<Val*> sizes;
  for (const IterDomain* id : ops::axesOf(tv)) {
    sizes.push_back(ops::extentOf(id));
  }
  return sizes;
}

bool sameSizes(const std::vector<Val*>& a, const std::vector<Val*>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const auto constant = ops::constantOf(a[i]);
    if (!a[i]->sameAs(b[i]) && (!constant || constant != ops::constantOf(b[i]))) {
      return false;
    }
  }
  return a.size() == b.size();
}

BeforeReshape::BeforeReshape(const TensorView* before, const TensorView* behind)
    : before_(shownSizes(before)),
      behind_(shownSizes(behind)),
      groups_(ops::groupAxes(before_, behind_)),
      left_(kMostBeforeReshape) {}

TensorView* BeforeReshape::of(TensorView* tv) {
  const auto known = made_.find(tv);
  if (known != made_.end()) {
    return known->second;
  }
  TensorView* made = ops::axesOf(tv).size() == behind_.size() ? computed(tv) : nullptr;
  made_.emplace(tv, made);
  return made;
}

TensorView* BeforeReshape::computed(TensorView* tv) {
  if (TensorView* small = regrouped(tv)) {
    return small;
  }
  const Expr* def = tv->isFusionInput() ? nullptr : tv->definition();
  if (def == nullptr) {
    return nullptr;
  }
  if (def->isA<ReshapeOp>()) {
    auto* operand = def->input(0)->as<TensorView>();
    const bool is_operand =
        sameSizes(shownSizes(operand), before_) && sameSizes(shownSizes(tv), behind_);
    if (is_operand) {
      reached_.push_back(tv);
    }
    return is_operand ? operand : nullptr;
  }
  if (def->isOneOf<UnaryOp, BinaryOp, TernaryOp>()) {
    return isTaken() ? applyToOthers(def, [this](TensorView* operand) { return of(operand); })
                     : nullptr;
  }
  if (def->isA<FullOp>()) {
    return isTaken() ? full(before_, def->as<FullOp>()->getFillValue(), tv->dtype()) : nullptr;
  }
  return isPlainCopy(def) ? of(def->input(0)->as<TensorView>()) : nullptr;
}

/// A tensor that is the same all along one group: stretched within the others, and reshaped. Null
/// for a tensor that is not.
TensorView* BeforeReshape::regrouped(TensorView* tv) {
  const std::vector<IterDomain*> axes = ops::axesOf(tv);
  std::vector<bool> is_squeezed(axes.size(), false);
  std::vector<bool> is_spread;
  std::vector<Val*> stretched;
  std::vector<Val*> wanted;
  std::vector<ops::AxisGroup> back;
  for (const ops::AxisGroup& group : groups_) {
    size_t own = 0;
    for (size_t i = group.new_begin; i < group.new_end; ++i) {
      if (axes[i]->hasExpandedExtent()) {
        return nullptr;
      }
      own += axes[i]->isBroadcast() ? 0 : 1;
    }
    const size_t first = stretched.size();
    for (size_t i = group.new_begin; i < group.new_end; ++i) {
      is_squeezed[i] = own == 0;
      if (own != 0) {
        stretched.push_back(behind_[i]);
      }
    }
    const size_t first_wanted = wanted.size();
    for (size_t i = group.old_begin; i < group.old_end; ++i) {
      is_spread.push_back(own == 0);
      if (own != 0) {
        wanted.push_back(before_[i]);
      }
    }
    if (own != 0) {
      back.push_back({first, stretched.size(), first_wanted, wanted.size()});
    }
  }
  if (back.size() == groups_.size() || !isTaken()) {
    return nullptr;
  }
  TensorView* made = squeeze(tv, is_squeezed);
  if (!back.empty()) {
    made = ops::regroup(expand(made, stretched), back, wanted);
  }
  return broadcast(made, is_spread);
}

}  // namespace nvfuser::preseg_passes
