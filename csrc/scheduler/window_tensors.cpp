#include <scheduler/window_tensors.h>

#include <algorithm>

#include <ir/builder.h>
#include <ir/size_arithmetic.h>

namespace nvfuser::scheduler_tools {

std::vector<IterDomain*> axesOf(const TensorView* tv) {
  return TensorDomain::noReductions(tv->getLogicalDomain());
}

TensorView* WindowTensors::tensor(std::vector<IterDomain*> root, std::vector<IterDomain*> logical,
                                  DataType dtype) {
  auto* domain = IrBuilder::createInContainer<TensorDomain>(
      fusion_, std::move(root), logical, std::vector<IterDomain*>{}, logical,
      TensorDomain::getContiguityFilledWith(logical, true));
  return IrBuilder::createInContainer<TensorView>(fusion_, domain, dtype, MemoryType::Local);
}

IterDomain* WindowTensors::axis(Val* extent, bool of_resize) {
  return IterDomainBuilder(fusion_->zeroVal(DataType::Index), extent)
      .is_rfactor_domain(of_resize)
      .build();
}

std::vector<IterDomain*> WindowTensors::axesThrough(const TensorView* tv, const Windows& windows) {
  std::vector<IterDomain*> axes = IterDomain::clone(axesOf(tv));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (windows[i].isMoved()) {
      axes[i] = axes[i]->isBroadcast()  // stretched
                    ? IterDomainBuilder(axes[i]).expanded_extent(windows[i].extent).build()
                    : axis(windows[i].extent);
    }
  }
  return axes;
}

namespace {

/// Whether that is known: a pad of a negative width is a part, around which there is nothing.
bool isAtMost(const Val* a, const Val* b) {
  return a->sameAs(b) || (a->isConstInt() && b->isConstInt() &&
                          a->evaluate().as<int64_t>() <= b->evaluate().as<int64_t>());
}

/// Behind the last element that a window reads.
Val* stopOf(const Window& window) {
  Val* length = window.step == 1
                    ? window.extent
                    : SimplifyingIrBuilder::mulExpr(
                          window.extent, IrBuilder::createInContainer<Val>(
                                             window.extent->fusion(), PolymorphicValue(window.step),
                                             DataType::Index));
  return SizeArithmetic::sum(window.start, length);
}

}  // namespace

IterDomain* WindowTensors::resizedAxis(IterDomain* id, const Window& window) {
  Val* stop = stopOf(window);
  Val* left = SizeArithmetic::difference(fusion_->zeroVal(DataType::Index), window.start);
  Val* right = SizeArithmetic::difference(stop, id->getMaybeExpandedExtent());
  IterDomain* result = axis(window.extent, true);
  IrBuilder::createInContainer<Resize>(fusion_, result, id, left, right, window.step);
  return result;
}

TensorView* WindowTensors::windowOf(TensorView* tv, const Windows& windows) {
  const std::vector<IterDomain*> root = IterDomain::clone(axesOf(tv));
  std::vector<IterDomain*> logical = root;
  const bool inside =
      std::all_of(windows.begin(), windows.end(), [](const Window& w) { return w.inside; });
  std::vector<Val*> ranges;
  std::vector<Val*> widths;
  for (size_t i = 0; i < root.size(); ++i) {
    const Window& window = windows[i];
    Val* zero = fusion_->zeroVal(DataType::Index);
    Val* extent = root[i]->getMaybeExpandedExtent();
    if (!window.isMoved()) {
      ranges.insert(ranges.end(), {zero, extent, fusion_->oneVal(DataType::Index)});
      widths.insert(widths.end(), {zero, zero});
      continue;
    }
    Val* stop = stopOf(window);
    ranges.insert(ranges.end(), {window.start, stop, number(window.step)});
    Val* left = SizeArithmetic::difference(zero, window.start);
    Val* right = SizeArithmetic::difference(stop, extent);
    widths.insert(widths.end(), {left, right});
    logical[i] = resizedAxis(root[i], window);
  }
  TensorView* out = tensor(root, logical, tv->dtype());
  if (inside) {
    IrBuilder::createInContainer<SliceOp>(fusion_, out, tv, ranges);
  } else {
    IrBuilder::createInContainer<PadOp>(fusion_, out, tv, fusion_->zeroVal(tv->dtype()), widths);
  }
  return out;
}

TensorView* WindowTensors::compare(const TensorView* like, size_t place, const Window& window,
                                   Val* bound, bool from) {
  const std::vector<IterDomain*> axes = axesOf(like);
  Val* extent = axes[place]->getMaybeExpandedExtent();
  Val* start = fusion_->zeroVal(DataType::Index);
  if (window.step != 1) {
    start = window.start;
  } else if (window.isMoved()) {  // j + start < bound where j < bound - start
    bound = SizeArithmetic::difference(bound, window.start);
  }
  TensorView* index = tensor({}, {axis(extent)}, DataType::Index);
  IrBuilder::createInContainer<IotaOp>(fusion_, index, extent, start, number(window.step));
  TensorView* result = tensor({}, {axis(extent)}, DataType::Bool);
  IrBuilder::createInContainer<BinaryOp>(fusion_, from ? BinaryOpType::GE : BinaryOpType::LT,
                                         result, index, bound);
  if (axes.size() == 1) {
    return result;
  }
  std::vector<bool> is_new(axes.size(), true);
  is_new[place] = false;
  std::vector<IterDomain*> spread;
  for (size_t i = 0; i < axes.size(); ++i) {
    spread.push_back(i == place ? axis(extent)
                                : IterDomainBuilder(fusion_->zeroVal(DataType::Index),
                                                    fusion_->oneVal(DataType::Index))
                                      .iter_type(IterType::Broadcast)
                                      .build());
  }
  TensorView* out = tensor({}, spread, DataType::Bool);
  IrBuilder::createInContainer<BroadcastOp>(fusion_, out, result, is_new);
  return out;
}

TensorView* WindowTensors::where(TensorView* condition, Val* then, Val* otherwise) {
  // Parts of a concatenation may be broadcast along the others' axes.
  std::vector<IterDomain*> axes;
  for (const Val* part : {then, otherwise, static_cast<Val*>(condition)}) {
    const std::vector<IterDomain*> own =
        part->isA<TensorView>() ? axesOf(part->as<TensorView>()) : std::vector<IterDomain*>();
    axes = axes.empty() ? own : axes;
    for (size_t i = 0; i < own.size(); ++i) {
      const bool has_more = !own[i]->isBroadcast() || own[i]->hasExpandedExtent();
      axes[i] = axes[i]->isBroadcast() && has_more ? own[i] : axes[i];
    }
  }
  TensorView* out = tensor({}, IterDomain::clone(axes), then->dtype());
  IrBuilder::createInContainer<TernaryOp>(fusion_, TernaryOpType::Where, out, condition, then,
                                          otherwise);
  return out;
}

TensorView* WindowTensors::whereInside(TensorView* tv, size_t place, const Window& window,
                                       Val* extent, Val* otherwise) {
  Val* zero = fusion_->zeroVal(DataType::Index);
  const auto [first, last] = endsOf(window);
  if (!isAtMost(zero, first)) {
    tv = where(compare(tv, place, window, zero, true), tv, otherwise);
  }
  if (!isAtMost(last, extent)) {
    tv = where(compare(tv, place, window, extent, false), tv, otherwise);
  }
  return tv;
}

Window WindowTensors::behind(const Window& window, const IterDomain* axis_of_result, Val* start,
                             int64_t step, bool inside) {
  Window result = window;
  if (!window.isMoved()) {
    result = {fusion_->zeroVal(DataType::Index), axis_of_result->getMaybeExpandedExtent(), true};
  }
  if (step != 1) {
    result.start = SimplifyingIrBuilder::mulExpr(result.start, number(step));
  }
  result.start = SizeArithmetic::sum(start, result.start);
  result.step *= step;
  result.inside &= inside;
  return result;
}

std::pair<Val*, Val*> WindowTensors::endsOf(const Window& window) {
  Val* stop = stopOf(window);
  if (window.step > 0) {  // what lies between two elements belongs to the first of them
    return {window.start, SizeArithmetic::sum(stop, number(1 - window.step))};
  }
  return {SizeArithmetic::sum(stop, number(-window.step)),
          SizeArithmetic::sum(window.start, number(1))};
}

Val* WindowTensors::number(int64_t value) {
  return value == 1
             ? fusion_->oneVal(DataType::Index)
             : IrBuilder::createInContainer<Val>(fusion_, PolymorphicValue(value), DataType::Index);
}

}  // namespace nvfuser::scheduler_tools
