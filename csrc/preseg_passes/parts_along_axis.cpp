#include <preseg_passes/parts_along_axis.h>

#include <algorithm>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/define_again.h>
#include <ops/indexing.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr int64_t kMoreOperations = 128;  ///< of parts, beside as many as a fusion has
constexpr int64_t kMostScanned = 16;      ///< of a scan up to an element
constexpr int64_t kMostDepth = 1000;      ///< operations in a row, for the stack's sake

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

std::optional<int64_t> shortExtent(const IterDomain* id, int64_t most) {
  const auto extent = ops::constantOf(id->extent());
  const bool fits = !id->isBroadcast() && extent && *extent > 1 && *extent <= most;
  return fits ? extent : std::nullopt;
}

TensorView* joinedAlong(std::vector<TensorView*> parts, size_t axis) {
  for (TensorView*& part : parts) {
    std::vector<bool> flags(ops::axesOf(part).size() + 1, false);
    flags[axis] = true;
    part = broadcast(part, flags);
  }
  return cat(parts, static_cast<int64_t>(axis));
}

int64_t mostOperationsOfParts(const Fusion& fusion) {
  return kMoreOperations + static_cast<int64_t>(fusion.exprs().size());
}

TensorView* PartsAlongAxis::of(TensorView* tv, size_t axis, int64_t k) {
  const bool same = ops::axesOf(tv)[axis]->isBroadcast();
  const Key key{tv->name(), axis, same ? 0 : k};
  const auto known = parts_.find(key);
  if (known != parts_.end()) {
    return known->second;
  }
  if (depth_ == kMostDepth) {
    return nullptr;
  }
  ++depth_;
  TensorView* part = computed(tv, axis, key.element);
  --depth_;
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
  if (def->isA<SqueezeOp>()) {
    return squeezed(def->as<SqueezeOp>(), axis, k);
  }
  if (def->isA<LoadStoreOp>()) {
    return permuted(tv, axis, k);
  }
  if (def->isA<RepeatOp>()) {
    return repeated(def->as<RepeatOp>(), axis, k);
  }
  if (def->isA<FullOp>()) {
    return full(sizesWithout(tv, axis), def->as<FullOp>()->getFillValue(), tv->dtype());
  }
  if (def->isA<IotaOp>()) {
    const auto* op = def->as<IotaOp>();
    const auto constant = [&](int64_t value) {
      return IrBuilder::createInContainer<Val>(tv->fusion(), PolymorphicValue(value), tv->dtype());
    };
    const auto start = ops::constantOf(op->start());
    const auto step = ops::constantOf(op->step());
    Val* value = start && step ? constant(*start + k * *step)
                               : add(op->start(), mul(op->step(), constant(k)));
    return full({}, value, tv->dtype());
  }
  if (def->isA<CatOp>()) {
    return joined(def->as<CatOp>(), axis, k);
  }
  if (def->isA<GatherOp>()) {
    return readAlong(def->as<GatherOp>(), axis, k);
  }
  if (def->isA<SliceOp>()) {
    return sliced(def->as<SliceOp>(), axis, k);
  }
  if (def->isA<PadOp>()) {
    return padded(def->as<PadOp>(), axis, k);
  }
  return def->isA<ScanOp>() ? scanned(def->as<ScanOp>(), axis, k) : nullptr;
}

TensorView* PartsAlongAxis::readAlong(const GatherOp* op, size_t axis, int64_t k) {
  const auto dim = static_cast<size_t>(op->dim());
  auto* in = op->input(0)->as<TensorView>();
  if (!op->exactSizes()) {
    return nullptr;
  }
  if (dim == axis) {
    const std::optional<int64_t> place = placeAt(op->input(1)->as<TensorView>(), axis, k);
    const auto extent = ops::constantOf(ops::extentOf(ops::axesOf(in)[axis]));
    return place && extent && 0 <= *place && *place < *extent ? of(in, axis, *place) : nullptr;
  }
  TensorView* index = of(op->input(1)->as<TensorView>(), axis, k);
  if (index == nullptr) {
    return nullptr;
  }
  const auto along = static_cast<int64_t>(dim - (axis < dim ? 1 : 0));
  if (TensorView* row_after_row = rowAfterRow(in, dim, axis)) {
    const auto width = ops::constantOf(ops::extentOf(ops::axesOf(in)[axis]));
    const auto constant = [&](int64_t value) {
      return IrBuilder::createInContainer<Val>(in->fusion(), PolymorphicValue(value),
                                               index->dtype());
    };
    return takeAlongAxis(row_after_row, add(mul(index, constant(*width)), constant(k)), along);
  }
  TensorView* from = of(in, axis, k);
  return from == nullptr ? nullptr : takeAlongAxis(from, index, along);
}

TensorView* PartsAlongAxis::rowAfterRow(TensorView* table, size_t dim, size_t axis) {
  const auto* spread = dynamic_cast<const BroadcastOp*>(table->definition());
  TensorView* input = spread == nullptr ? table : spread->in()->as<TensorView>();
  if (!input->isFusionInput() || input->hasAllocation() ||
      !std::ranges::all_of(input->getContiguity(),
                           [](const auto& is_dense) { return is_dense.value_or(false); })) {
    return nullptr;
  }
  std::vector<size_t> places;  // of the input's axes in the table
  std::vector<bool> flags;     // of what the table repeats, without `axis`
  for (size_t i = 0; i < ops::axesOf(table).size(); ++i) {
    const bool is_spread = spread != nullptr && spread->isBroadcastDim(i);
    if (!is_spread) {
      places.push_back(i);
    }
    if (i != axis) {
      flags.push_back(is_spread);
    }
  }
  const auto at = std::ranges::find(places, dim);
  if (at == places.end() || at + 1 == places.end() || *(at + 1) != axis ||
      !ops::constantOf(ops::extentOf(ops::axesOf(table)[axis]))) {
    return nullptr;
  }
  const int64_t outer = at - places.begin();
  const Key key{input->name(), static_cast<size_t>(outer), 0};
  TensorView*& flat = row_after_row_[key];
  if (flat == nullptr) {
    flat = flatten(input, outer, outer + 1);
    read_.push_back(input);
  }
  return std::ranges::find(flags, true) == flags.end() ? flat : broadcast(flat, flags);
}

std::optional<int64_t> PartsAlongAxis::placeAt(TensorView* index, size_t axis, int64_t k) {
  const std::vector<IterDomain*> axes = ops::axesOf(index);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i != axis && (!axes[i]->isBroadcast() || axes[i]->hasExpandedExtent())) {
      return std::nullopt;
    }
  }
  const TensorView* part = of(index, axis, k);
  while (part != nullptr && part->definition() != nullptr &&
         part->definition()->isOneOf<BroadcastOp, SqueezeOp>()) {
    part = part->definition()->input(0)->as<TensorView>();
  }
  const auto* filled = part == nullptr ? nullptr : dynamic_cast<const FullOp*>(part->definition());
  return filled == nullptr ? std::nullopt : ops::constantOf(filled->getFillValue());
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

TensorView* PartsAlongAxis::squeezed(const SqueezeOp* op, size_t axis, int64_t k) {
  std::vector<int64_t> dropped;
  size_t of_in = 0;
  for (size_t i = 0, kept = 0; i < op->flags().size(); ++i) {
    if (!op->isSqueezeDim(i) && kept++ == axis) {
      of_in = i;
    }
  }
  for (size_t i = 0; i < op->flags().size(); ++i) {
    if (op->isSqueezeDim(i)) {
      dropped.push_back(static_cast<int64_t>(i - (of_in < i ? 1 : 0)));
    }
  }
  TensorView* part = of(op->in()->as<TensorView>(), of_in, k);
  return part == nullptr ? nullptr : squeeze(part, dropped, true);
}

TensorView* PartsAlongAxis::permuted(TensorView* tv, size_t axis, int64_t k) {
  auto* in = tv->definition()->input(0)->as<TensorView>();
  if (!tv->hasRoot()) {
    return of(in, axis, k);
  }
  const auto places = permutationOf(tv->definition());
  if (!places) {
    return nullptr;
  }
  std::vector<int64_t> order(places->begin(), places->end());
  const int64_t gone = order[axis];
  TensorView* part = of(in, static_cast<size_t>(gone), k);
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(axis));
  for (int64_t& place : order) {
    place -= gone < place ? 1 : 0;
  }
  return part == nullptr ? nullptr : permute(part, order);
}

TensorView* PartsAlongAxis::sliced(const SliceOp* op, size_t axis, int64_t k) {
  auto* in = op->in()->as<TensorView>();
  const auto start = ops::constantOf(op->start(axis));
  if (!start) {
    return nullptr;
  }
  std::vector<ops::Range> ranges = ops::rangesOf(op);
  TensorView* part = of(in, axis, *start + k * ranges[axis].step);
  ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(axis));
  return part == nullptr ? nullptr : ops::cutTo(part, ranges);
}

TensorView* PartsAlongAxis::padded(const PadOp* op, size_t axis, int64_t k) {
  auto* in = op->in()->as<TensorView>();
  const auto left = ops::constantOf(op->leftWidth(axis));
  const auto extent = ops::constantOf(ops::extentOf(ops::axesOf(in)[axis]));
  if (!left || !extent) {
    return nullptr;
  }
  if (k < *left || *left + *extent <= k) {
    auto* out = op->out()->as<TensorView>();
    return full(sizesWithout(out, axis), op->value(), out->dtype());
  }
  std::vector<Val*> widths;  // of the last axis first
  bool any = false;
  for (size_t i = ops::axesOf(in).size(); i-- > 0;) {
    if (i != axis) {
      widths.insert(widths.end(), {op->leftWidth(i), op->rightWidth(i)});
      any = any || !op->leftWidth(i)->isZero() || !op->rightWidth(i)->isZero();
    }
  }
  TensorView* part = of(in, axis, k - *left);
  return part == nullptr || !any ? part : pad(part, widths, op->value());
}

TensorView* PartsAlongAxis::scanned(const ScanOp* op, size_t axis, int64_t k) {
  auto* in = op->input(0)->as<TensorView>();
  const auto extent = ops::constantOf(ops::extentOf(ops::axesOf(in)[axis]));
  if (static_cast<size_t>(op->dim()) != axis || !extent ||
      (op->isBackward() ? *extent - 1 - k : k) >= kMostScanned) {
    return nullptr;
  }
  const int64_t step = op->isBackward() ? -1 : 1;
  const bool is_first = k == (op->isBackward() ? *extent - 1 : 0);
  TensorView* part = of(in, axis, k);
  Val* before = op->init();
  if (!is_first) {
    before = of(op->output(0)->as<TensorView>(), axis, k - step);
  }
  if (part == nullptr || (!is_first && before == nullptr)) {
    return nullptr;
  }
  if (before == nullptr) {
    return part;
  }
  return --left_ < 0 ? nullptr : binaryOp(op->scanType(), before, part);
}

}  // namespace nvfuser::preseg_passes
