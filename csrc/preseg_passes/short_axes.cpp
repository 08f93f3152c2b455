#include <preseg_passes/short_axes.h>

#include <algorithm>
#include <map>

#include <ir/builder.h>
#include <ir/exact_numerics.h>
#include <ir/internal_nodes.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/indexing.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr int64_t kMostElements = 4;  ///< of an axis that is taken apart
constexpr int64_t kMostJoined = 8;    ///< where tensors are joined along it
constexpr int64_t kMostParts = 8;     ///< of a tensor

/// Elements of a short axis; nothing for other axes.
std::optional<int64_t> shortExtent(const IterDomain* id, int64_t most = kMostElements) {
  const auto extent = ops::constantOf(id->extent());
  const bool fits = !id->isBroadcast() && extent && *extent > 1 && *extent <= most;
  return fits ? extent : std::nullopt;
}

bool isPointwise(const Expr* expr) { return expr->isOneOf<UnaryOp, BinaryOp, TernaryOp>(); }

/// Whether an operand of the operation that computes `tv` is joined along its axis.
bool isOfJoined(const TensorView* tv, size_t axis) {
  const Expr* def = tv->isFusionInput() ? nullptr : tv->definition();
  if (def == nullptr || !isPointwise(def)) {
    return false;
  }
  return std::any_of(def->inputs().begin(), def->inputs().end(), [&](const Val* operand) {
    const auto* cat = dynamic_cast<const CatOp*>(operand->definition());
    return cat != nullptr && static_cast<size_t>(cat->concatenatedDim()) == axis;
  });
}

/// Tensors at one place of an axis.
class Parts {
 public:
  /// `tv` at element `k` of its axis number `axis`, which goes; null: it cannot be computed from
  /// parts of inputs.
  TensorView* of(TensorView* tv, size_t axis, int64_t k) {
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

  /// Whether some part was read from an input that has an element for each of its own.
  bool readsWhole(const TensorView* tv) const {
    const auto axes = [](const TensorView* x) {
      return TensorDomain::noBroadcasts(ops::axesOf(x)).size();
    };
    return std::any_of(read_.begin(), read_.end(),
                       [&](const TensorView* input) { return axes(input) >= axes(tv); });
  }

 private:
  struct Key {
    int64_t tensor;
    size_t axis;
    int64_t element;
    auto operator<=>(const Key&) const = default;
  };

  TensorView* computed(TensorView* tv, size_t axis, int64_t k) {
    const IterDomain* id = ops::axesOf(tv)[axis];
    Expr* def = tv->isFusionInput() ? nullptr : tv->definition();
    if (def != nullptr && def->isA<ExpandOp>()) {
      return stretched(def->as<ExpandOp>(), axis, k);
    }
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
      Val* place =
          IrBuilder::createInContainer<Val>(tv->fusion(), PolymorphicValue(k), tv->dtype());
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

  /// Of what is read at an index along another axis.
  TensorView* readAlong(const GatherOp* op, size_t axis, int64_t k) {
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

  /// Of what is repeated along the axis alone, the one element.
  TensorView* repeated(const RepeatOp* op, size_t axis, int64_t k) {
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

  static std::vector<Val*> sizesWithout(const TensorView* tv, size_t axis) {
    std::vector<Val*> sizes;
    for (const IterDomain* id : ops::axesOf(tv)) {
      sizes.push_back(ops::extentOf(id));
    }
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
    return sizes;
  }

  TensorView* stretched(const ExpandOp* op, size_t axis, int64_t k) {
    TensorView* part = of(op->in()->as<TensorView>(), axis, k);
    const std::vector<Val*> sizes = sizesWithout(op->out()->as<TensorView>(), axis);
    return part == nullptr || sizes.empty() ? part : expand(part, sizes);
  }

  /// Of what is joined along the axis, the element of the operand that has it; else the parts of
  /// all operands, joined.
  TensorView* joined(const CatOp* op, size_t axis, int64_t k) {
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

  TensorView* pointwise(const Expr* def, size_t axis, int64_t k) {
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
    return applyTo(def, operands);
  }

  TensorView* spread(const BroadcastOp* op, size_t axis, int64_t k) {
    auto* in = op->in()->as<TensorView>();
    std::vector<bool> flags;
    for (size_t i = 0; i < op->flags().size(); ++i) {
      if (i != axis) {
        flags.push_back(op->isBroadcastDim(i));
      }
    }
    if (!op->isBroadcastDim(axis)) {
      const auto before = std::count(
          op->flags().begin(), op->flags().begin() + static_cast<std::ptrdiff_t>(axis), false);
      in = of(in, static_cast<size_t>(before), k);
    }
    const bool any = std::find(flags.begin(), flags.end(), true) != flags.end();
    return in == nullptr || !any ? in : broadcast(in, flags);
  }

  /// A slice along the axis alone, from a place that is known.
  TensorView* sliced(const SliceOp* op, size_t axis, int64_t k) {
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

  std::map<Key, TensorView*> parts_;
  std::vector<const TensorView*> read_;
};

class TakingApart {
 public:
  /// `alone`: the fusion has no other reduction. `of_planes`: of inputs, too.
  TakingApart(const ReductionOp* op, bool alone, bool of_planes)
      : op_(op),
        in_(op->in()->as<TensorView>()),
        out_(op->out()->as<TensorView>()),
        alone_(alone),
        of_planes_(of_planes) {}

  /// What the reduction gives, from parts; null: it stays.
  TensorView* run() {
    const DataType dtype = in_->dtype();
    const bool plain = dtype == DataType::Float || dtype == DataType::Double ||
                       isIntegralType(dtype) || isBooleanType(dtype);
    const std::vector<IterDomain*>& axes = out_->getLogicalDomain();
    const Expr* def = in_->isFusionInput() ? nullptr : in_->definition();
    const bool is_apart =
        in_->isFusionInput() ? of_planes_ && readsPlanes() : def != nullptr && isPointwise(def);
    if (!plain || out_->dtype() != dtype || op_->isAllreduce() || !is_apart) {
      return nullptr;
    }
    if (axes.size() != ops::axesOf(in_).size()) {
      return nullptr;
    }
    const auto extentIfReduced = [&](size_t i) {
      return axes[i]->isReduction() ? shortExtent(ops::axesOf(in_)[i],
                                                  isOfJoined(in_, i) ? kMostJoined : kMostElements)
                                    : std::nullopt;
    };
    bool all_short = true;
    for (size_t i = 0; i < axes.size(); ++i) {
      all_short = all_short && (!axes[i]->isReduction() || extentIfReduced(i));
    }
    std::vector<size_t> apart;  // inner axes first, so that the others keep their places
    int64_t count = 1;
    for (size_t i = axes.size(); i-- > 0;) {
      const auto extent = extentIfReduced(i);
      // A few rows that are summed with all in them, or beside sums of each row, are rows like
      // others.
      const bool is_rows =
          i + 1 < axes.size() && !isOfJoined(in_, i) && (!all_short || (i == 0 && !alone_));
      if (extent && !is_rows && count * *extent <= kMostParts) {
        count *= *extent;
        apart.push_back(i);
      }
    }
    if (apart.empty()) {
      return in_->isFusionInput() ? nullptr : keptApart();
    }
    return summed(apart);
  }

 private:
  /// Whether an input's elements along its axes that are reduced lie far from each other: each part
  /// is a run of memory.
  bool readsPlanes() const {
    const std::vector<IterDomain*>& axes = out_->getLogicalDomain();
    const std::vector<IterDomain*>& memory = in_->getMaybeAllocationDomain();
    const std::vector<IterDomain*> own = ops::axesOf(in_);
    if (memory.empty() || axes.size() != own.size()) {
      return false;
    }
    const auto innermost = std::find(own.begin(), own.end(), memory.back());
    return innermost != own.end() && !memory.back()->isBroadcast() &&
           !axes[static_cast<size_t>(innermost - own.begin())]->isReduction();
  }

  /// The reduction over the short axes as a chain, then over what is left.
  TensorView* summed(const std::vector<size_t>& apart) {
    std::vector<TensorView*> parts{in_};
    for (const size_t axis : apart) {
      std::vector<TensorView*> next;
      for (TensorView* part : parts) {
        const int64_t extent = *shortExtent(ops::axesOf(part)[axis], kMostJoined);
        for (int64_t k = 0; k < extent; ++k) {
          next.push_back(parts_.of(part, axis, k));
          if (next.back() == nullptr) {
            return nullptr;
          }
        }
      }
      parts = std::move(next);
    }
    TensorView* result = nullptr;
    for (TensorView* part : parts) {
      // (0 + -0 is 0.)
      result = result != nullptr ? combined(result, part)
               : op_->getReductionOpType() == BinaryOpType::Add
                   ? binaryOp(BinaryOpType::Add, op_->init(), part)
                   : part;
    }
    return reduced(result, [&](size_t axis) {
      return std::find(apart.begin(), apart.end(), axis) != apart.end();
    });
  }

  TensorView* combined(TensorView* a, TensorView* b) {
    return binaryOp(op_->getReductionOpType(), a, b);
  }

  /// `part`, which lacks axes of the reduction's operand, reduced over those of the others.
  template <typename Lacks>
  TensorView* reduced(TensorView* part, const Lacks& lacks) {
    const std::vector<IterDomain*>& axes = out_->getLogicalDomain();
    std::vector<int64_t> left;
    int64_t place = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (lacks(i)) {
        continue;
      }
      if (axes[i]->isReduction()) {
        left.push_back(place);
      }
      ++place;
    }
    return left.empty() ? part : reductionOp(op_->getReductionOpType(), left, op_->init(), part);
  }

  /// Reductions of the parts along a short innermost axis that stays, side by side.
  TensorView* keptApart() {
    const std::vector<IterDomain*>& axes = out_->getLogicalDomain();
    const size_t last = axes.size() - 1;
    const auto extent = axes[last]->isReduction() ? std::nullopt : shortExtent(axes[last]);
    if (!extent) {
      return nullptr;
    }
    std::vector<TensorView*> parts;
    for (int64_t k = 0; k < *extent; ++k) {
      parts.push_back(parts_.of(in_, last, k));
      if (parts.back() == nullptr || parts_.readsWhole(in_)) {
        return nullptr;
      }
    }
    for (TensorView*& part : parts) {
      part = reduced(part, [&](size_t axis) { return axis == last; });
      std::vector<bool> flags(ops::axesOf(part).size() + 1, false);
      flags.back() = true;
      part = broadcast(part, flags);
    }
    return cat(parts, -1);
  }

  const ReductionOp* op_;
  TensorView* in_;
  TensorView* out_;
  bool alone_;
  bool of_planes_;
  Parts parts_;
};

void takeApart(Fusion& fusion, bool of_planes) {
  if (reducesInOrder(fusion)) {
    return;
  }
  FusionGuard guard(&fusion);
  const std::vector<Expr*> exprs = fusion.exprs();
  const auto reductions =
      std::count_if(exprs.begin(), exprs.end(), [](const Expr* expr) { return isReduction(expr); });
  for (const Expr* expr : exprs) {
    if (!expr->isA<ReductionOp>()) {
      continue;
    }
    auto* old = expr->output(0)->as<TensorView>();
    TensorView* result = TakingApart(expr->as<ReductionOp>(), reductions == 1, of_planes).run();
    if (result != nullptr && sameForm(old, result)) {
      replaceTensor(old, result);
    }
  }
}

}  // namespace

void takeShortAxesApart(Fusion& fusion) { takeApart(fusion, false); }
void takeShortPlanesApart(Fusion& fusion) { takeApart(fusion, true); }

}  // namespace nvfuser::preseg_passes
