#include <preseg_passes/parts_along_axis.h>

#include <algorithm>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/indexing.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

/// Sizes of a tensor's other axes.
std::vector<Val*> sizesWithout(const TensorView* tv, size_t axis) {
  std::vector<Val*> sizes;
  for (const IterDomain* id : ops::axesOf(tv)) {
    sizes.push_back(ops::extentOf(id));
  }
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  return sizes;
}

}  // namespace

bool isPointwise(const Expr* expr) { return expr->isOneOf<UnaryOp, BinaryOp, TernaryOp>(); }

TensorView* PartsAlongAxis::of(TensorView* tv, size_t axis, int64_t k) {
  const bool same = ops::axesOf(tv)[axis]->isBroadcast();
  const Key key{tv->name(), axis, same ? 0 : k};
  const auto known = parts_.find(key);
  if (known != parts_.end()) {
    return known->second;
  }
  TensorView* part = computed(tv, axis, key.element);
  parts_.emplace(key, part);
  return part;
}

bool PartsAlongAxis::readsWhole(const TensorView* tv) const {
  const auto axes = [](const TensorView* x) {
    return TensorDomain::noBroadcasts(ops::axesOf(x)).size();
  };
  return std::any_of(read_.begin(), read_.end(),
                     [&](const TensorView* input) { return axes(input) >= axes(tv); });
}

TensorView* PartsAlongAxis::computed(TensorView* tv, size_t axis, int64_t k) {
  Expr* def = tv->isFusionInput() ? nullptr : tv->definition();
  if (def != nullptr && def->isA<ExpandOp>()) {
    return stretched(def->as<ExpandOp>(), axis, k);
  }
  const IterDomain* id = ops::axesOf(tv)[axis];
  if (id->isBroadcast() && id->hasExpandedExtent()) {
    return nullptr;
  }
  if (def == nullptr) {
    read_.push_back(tv);
    return id->isBroadcast() ? squeeze(tv, std::vector<int64_t>{static_cast<int64_t>(axis)})
                             : select(tv, static_cast<int64_t>(axis), ops::indexConstant(k));
  }
  if (isPointwise(def)) {
    return pointwise(def, axis, k);
  }
  if (def->isA<BroadcastOp>()) {
    return spread(def->as<BroadcastOp>(), axis, k);
  }
  if (def->isA<LoadStoreOp>() && !tv->hasRoot()) {
    return of(def->input(0)->as<TensorView>(), axis, k);
  }
  if (def->isA<RepeatOp>()) {
    return repeated(def->as<RepeatOp>(), axis, k);
  }
  if (def->isA<FullOp>()) {
    return full(sizesWithout(tv, axis), def->as<FullOp>()->getFillValue(), tv->dtype());
  }
  if (def->isA<IotaOp>()) {
    const auto* op = def->as<IotaOp>();
    Val* place = IrBuilder::createInContainer<Val>(tv->fusion(), PolymorphicValue(k), tv->dtype());
    return full({}, add(op->start(), mul(op->step(), place)), tv->dtype());
  }
  if (def->isA<CatOp>()) {
    return joined(def->as<CatOp>(), axis, k);
  }
  if (def->isA<GatherOp>()) {
    return readAlong(def->as<GatherOp>(), axis, k);
  }
  return def->isA<SliceOp>() ? sliced(def->as<SliceOp>(), axis, k) : nullptr;
}

TensorView* PartsAlongAxis::readAlong(const GatherOp* op, size_t axis, int64_t k) {
  const auto dim = static_cast<size_t>(op->dim());
  if (!op->exactSizes() || dim == axis) {
    return nullptr;
  }
  TensorView* from = of(op->input(0)->as<TensorView>(), axis, k);
  TensorView* index = of(op->input(1)->as<TensorView>(), axis, k);
  return from == nullptr || index == nullptr
             ? nullptr
             : takeAlongAxis(from, index, static_cast<int64_t>(dim - (axis < dim ? 1 : 0)));
}

TensorView* PartsAlongAxis::repeated(const RepeatOp* op, size_t axis, int64_t k) {
  auto* in = op->in()->as<TensorView>();
  const std::vector<IterDomain*> of_in = ops::axesOf(in);
  const std::vector<IterDomain*> of_out = ops::axesOf(op->out()->as<TensorView>());
  for (size_t i = 0; i < of_in.size(); ++i) {
    if (i != axis && of_in[i]->isBroadcast() != of_out[i]->isBroadcast()) {
      return nullptr;
    }
  }
  return of_in[axis]->hasExpandedExtent() ? nullptr : of(in, axis, k);
}

TensorView* PartsAlongAxis::stretched(const ExpandOp* op, size_t axis, int64_t k) {
  TensorView* part = of(op->in()->as<TensorView>(), axis, k);
  const std::vector<Val*> sizes = sizesWithout(op->out()->as<TensorView>(), axis);
  return part == nullptr || sizes.empty() ? part : expand(part, sizes);
}

TensorView* PartsAlongAxis::joined(const CatOp* op, size_t axis, int64_t k) {
  const auto dim = static_cast<size_t>(op->concatenatedDim());
  std::vector<TensorView*> parts;
  for (const Val* operand : op->inputs()) {
    const auto* pad = dynamic_cast<const PadOp*>(operand->definition());
    if (pad == nullptr) {
      return nullptr;
    }
    auto* in = pad->in()->as<TensorView>();
    if (dim == axis) {
      const auto begin = ops::constantOf(pad->leftWidth(axis));
      const auto extent = ops::constantOf(ops::extentOf(ops::axesOf(in)[axis]));
      if (!begin || !extent) {
        return nullptr;
      }
      if (*begin <= k && k < *begin + *extent) {
        return of(in, axis, k - *begin);
      }
      continue;
    }
    parts.push_back(of(in, axis, k));
    if (parts.back() == nullptr) {
      return nullptr;
    }
  }
  return parts.empty() ? nullptr : cat(parts, static_cast<int64_t>(dim - (axis < dim ? 1 : 0)));
}

TensorView* PartsAlongAxis::pointwise(const Expr* def, size_t axis, int64_t k) {
  std::vector<Val*> operands = def->inputs();
  for (Val*& operand : operands) {
    if (!operand->isA<TensorView>()) {
      continue;
    }
    auto* tv = operand->as<TensorView>();
    operand = axis < ops::axesOf(tv).size() ? of(tv, axis, k) : nullptr;
    if (operand == nullptr) {
      return nullptr;
    }
  }
  return --left_ < 0 ? nullptr : applyTo(def, operands);
}

TensorView* PartsAlongAxis::spread(const BroadcastOp* op, size_t axis, int64_t k) {
  auto* in = op->in()->as<TensorView>();
  std::vector<bool> flags;
  for (size_t i = 0; i < op->flags().size(); ++i) {
    if (i != axis) {
      flags.push_back(op->isBroadcastDim(i));
    }
  }
  if (!op->isBroadcastDim(axis)) {
    const auto before = std::count(op->flags().begin(),
                                   op->flags().begin() + static_cast<std::ptrdiff_t>(axis), false);
    in = of(in, static_cast<size_t>(before), k);
  }
  const bool any = std::find(flags.begin(), flags.end(), true) != flags.end();
  return in == nullptr || !any ? in : broadcast(in, flags);
}

TensorView* PartsAlongAxis::sliced(const SliceOp* op, size_t axis, int64_t k) {
  auto* in = op->in()->as<TensorView>();
  const std::vector<IterDomain*> axes = ops::axesOf(in);
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool whole = op->start(i)->isZero() && op->stop(i)->sameAs(ops::extentOf(axes[i])) &&
                       op->step(i)->isOne();
    if (i != axis && !whole) {
      return nullptr;
    }
  }
  const auto start = ops::constantOf(op->start(axis));
  return start && op->step(axis)->isOne() ? of(in, axis, *start + k) : nullptr;
}

}  // namespace nvfuser::preseg_passes
