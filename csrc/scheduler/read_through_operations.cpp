/// What is computed element by element, moved or repeated, through windows: the same operation on
/// its operands through theirs.
#include <algorithm>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <scheduler/copy_operation.h>
#include <scheduler/propagate_resizes.h>

namespace nvfuser::scheduler_tools {

namespace {

using Simplify = SimplifyingIrBuilder;

/// Whether the operation may be given zeros that nobody asked for, of its operands that are
/// tensors: dividing integers by them traps.
bool takesZeros(const Expr* expr) {
  if (!expr->isA<BinaryOp>() || !isIntegralType(expr->output(0)->dtype())) {
    return true;
  }
  using enum BinaryOpType;
  const BinaryOpType type = expr->as<BinaryOp>()->getBinaryOpType();
  const bool divides =
      type == Div || type == Fmod || type == Remainder || type == Mod || type == CeilDiv;
  const bool by_number =
      !expr->input(1)->isA<TensorView>() && expr->output(0)->dtype() != DataType::Index;
  return divides ? by_number : type != Pow && type != Gcd;
}

/// Whether an axis is known to have a first element.
bool hasElements(const IterDomain* id) {
  const Val* extent = id->getMaybeExpandedExtent();
  return extent->isConstInt() && extent->evaluate().as<int64_t>() > 0;
}

}  // namespace

TensorView* ResizePropagation::at(TensorView* tv, Windows windows) {
  const std::vector<IterDomain*> axes = axesOf(tv);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (windows[i].isMoved() && axes[i]->isBroadcast()) {
      if (!axes[i]->hasExpandedExtent()) {
        windows[i] = Window();  // one element, wherever it is read
      } else if (!isComputed(tv)) {
        return nullptr;
      }
    }
    if (windows[i].isMoved() && windows[i].step == 1 && windows[i].start->isZero() &&
        windows[i].extent->sameAs(axes[i]->getMaybeExpandedExtent())) {
      windows[i] = Window();
    }
  }
  if (std::none_of(windows.begin(), windows.end(),
                   [](const Window& window) { return window.isMoved(); })) {
    return tv;
  }
  View key{static_cast<uint64_t>(tv->name())};
  for (const Window& window : windows) {
    if (!window.isMoved()) {
      key.insert(key.end(), {0, 0, 0, 0, 0, 0});
      continue;
    }
    const Fingerprint start = window.start->fingerprint();
    const Fingerprint extent = window.extent->fingerprint();
    key.insert(key.end(), {start.high, start.low, extent.high, extent.low, window.inside,
                           static_cast<uint64_t>(window.step)});
  }
  const auto known = copies_.find(key);
  if (known != copies_.end()) {
    return known->second;
  }
  TensorView* result = nullptr;
  if (--left_ >= 0) {
    result = isComputed(tv) ? through(tv, windows) : make_.windowOf(tv, windows);
  }
  copies_.emplace(std::move(key), result);
  return result;
}

Windows ResizePropagation::windowsOf(const Expr* expr, const TensorView* operand,
                                     const TensorView* result, const Windows& windows) {
  const std::vector<IterDomain*> of_operand = axesOf(operand);
  const std::vector<IterDomain*>& logical = result->getLogicalDomain();
  Windows moved(of_operand.size());
  for (auto [p, c] : mapAxes(expr, operand, result)) {
    const auto from = std::find(of_operand.begin(), of_operand.end(), p) - of_operand.begin();
    const auto to = std::find(logical.begin(), logical.end(), c) - logical.begin();
    if (to < static_cast<std::ptrdiff_t>(logical.size())) {
      moved[static_cast<size_t>(from)] = windows[static_cast<size_t>(to)];
    }
  }
  return moved;
}

bool ResizePropagation::isSharedBeforeRepeat(const Expr* repeat, const Windows& windows) {
  const auto* in = repeat->input(0)->as<TensorView>();
  if (!in->isFusionOutput() && in->uses().size() < 2) {
    return false;
  }
  const std::vector<IterDomain*> axes = axesOf(in);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i]->isBroadcast() && windows[i].isMoved()) {
      return true;
    }
  }
  return false;
}

TensorView* ResizePropagation::repeatedApart(const Expr* repeat, TensorView* tv,
                                             const Windows& windows) {
  auto* in = repeat->input(0)->as<TensorView>();
  TensorView* own = apart(in);
  TensorView* operand = own == nullptr ? nullptr : at(own, windowsOf(repeat, in, tv, windows));
  if (operand == nullptr) {
    return nullptr;
  }
  TensorView* out = make_.tensor({}, make_.axesThrough(tv, windows), tv->dtype());
  copyOperation(repeat, {operand}, {out});
  return out;
}

TensorView* ResizePropagation::apart(TensorView* tv) {
  if (--left_ < 0) {
    return nullptr;
  }
  TensorView* out = make_.tensor({}, IterDomain::clone(axesOf(tv)), tv->dtype());
  if (!isComputed(tv)) {
    IrBuilder::createInContainer<LoadStoreOp>(fusion_, LoadStoreOpType::Set, out, tv);
    return out;
  }
  const Expr* def = tv->definition();
  const bool reads_input = def->isA<SelectOp>() && !isComputed(def->input(0));
  const bool is_plain =
      def->isOneOf<UnaryOp, BinaryOp, TernaryOp, BroadcastOp, SqueezeOp, FullOp, LoadStoreOp>();
  if (tv->hasRoot() || !(reads_input || is_plain)) {
    return nullptr;
  }
  std::vector<Val*> operands = def->inputs();
  for (Val*& operand : operands) {
    if (operand->isA<TensorView>() && !reads_input) {
      operand = apart(operand->as<TensorView>());
    }
    if (operand == nullptr) {
      return nullptr;
    }
  }
  copyOperation(def, std::move(operands), {out});
  return out;
}

TensorView* ResizePropagation::through(TensorView* tv, const Windows& windows) {
  Expr* def = tv->definition();
  switch (def->kind()) {
    case ExprKind::UnaryOp:
    case ExprKind::BinaryOp:
    case ExprKind::TernaryOp:
    case ExprKind::BroadcastOp:
    case ExprKind::SqueezeOp:
    case ExprKind::FullOp:
      return again(def, tv, windows, make_.axesThrough(tv, windows));
    case ExprKind::RepeatOp:
      return isSharedBeforeRepeat(def, windows)
                 ? repeatedApart(def, tv, windows)
                 : again(def, tv, windows, make_.axesThrough(tv, windows));
    case ExprKind::LoadStoreOp:
      return tv->hasRoot() ? permuted(def, tv, windows)
                           : again(def, tv, windows, make_.axesThrough(tv, windows));
    case ExprKind::ExpandOp:
      return stretched(def, tv, windows);
    case ExprKind::ReshapeOp:
      return reshaped(def, tv, windows);
    case ExprKind::IotaOp:
      return counted(def->as<IotaOp>(), tv, windows);
    case ExprKind::SelectOp:
    case ExprKind::GatherOp:
      return reads_at_indices_ ? readOf(def, tv, windows) : nullptr;
    case ExprKind::SliceOp:
    case ExprKind::PadOp:
    case ExprKind::CatOp:
      return throughResize(def, windows);
    default:
      return nullptr;
  }
}

TensorView* ResizePropagation::readOf(const Expr* def, const TensorView* tv,
                                      const Windows& windows) {
  auto* in = def->input(0)->as<TensorView>();
  const bool gathers = def->isA<GatherOp>() && def->as<GatherOp>()->exactSizes();
  if (isComputed(in) || tv->hasRoot() || !(gathers || def->isA<SelectOp>())) {
    return nullptr;
  }
  std::vector<IterDomain*> root = IterDomain::clone(axesOf(tv));
  std::vector<IterDomain*> logical = root;
  Windows of_index(root.size());
  bool is_resized = false;
  for (size_t i = 0; i < root.size(); ++i) {
    if (!windows[i].isMoved()) {
      continue;
    }
    const auto has = [&](const Val* operand) {
      return !axesOf(operand->as<TensorView>())[i]->isBroadcast();
    };
    if (gathers && has(def->input(1))) {
      const bool both = static_cast<int64_t>(i) != def->as<GatherOp>()->dim() && has(in);
      if (both || (!windows[i].inside && !hasElements(axesOf(in)[i]))) {
        return nullptr;
      }
      of_index[i] = windows[i];
      root[i] = logical[i] = make_.axis(windows[i].extent);
    } else {
      logical[i] = make_.resizedAxis(root[i], windows[i]);
      is_resized = true;
    }
  }
  std::vector<Val*> operands = def->inputs();
  if (gathers) {
    operands[1] = indexThrough(operands[1]->as<TensorView>(), of_index);
    if (operands[1] == nullptr) {
      return nullptr;
    }
  }
  TensorView* out =
      make_.tensor(is_resized ? root : std::vector<IterDomain*>{}, logical, tv->dtype());
  copyOperation(def, std::move(operands), {out});
  return out;
}

TensorView* ResizePropagation::indexThrough(TensorView* index, const Windows& windows) {
  TensorView* result = at(index, windows);
  const std::vector<IterDomain*> own = axesOf(index);
  for (size_t i = 0; i < own.size() && result != nullptr; ++i) {
    if (windows[i].isMoved() && !windows[i].inside) {
      Val* first = fusion_->zeroVal(index->dtype());
      result = make_.whereInside(result, i, windows[i], own[i]->getMaybeExpandedExtent(), first);
    }
  }
  return result;
}

TensorView* ResizePropagation::again(const Expr* def, TensorView* tv, const Windows& windows,
                                     const std::vector<IterDomain*>& axes,
                                     std::vector<IterDomain*> root) {
  const bool inside =
      std::all_of(windows.begin(), windows.end(), [](const Window& w) { return w.inside; });
  if (!inside && !takesZeros(def)) {
    return nullptr;
  }
  std::vector<Val*> operands = def->inputs();
  for (Val*& operand : operands) {
    if (operand->isA<TensorView>()) {
      auto* in = operand->as<TensorView>();
      operand = at(in, windowsOf(def, in, tv, windows));
      if (operand == nullptr) {
        return nullptr;
      }
    }
  }
  TensorView* out = make_.tensor(std::move(root), axes, tv->dtype());
  copyOperation(def, std::move(operands), {out});
  return out;
}

TensorView* ResizePropagation::permuted(const Expr* def, TensorView* tv, const Windows& windows) {
  const std::vector<IterDomain*> axes = make_.axesThrough(tv, windows);
  std::vector<IterDomain*> root;
  for (const IterDomain* id : tv->getRootDomain()) {
    const auto& logical = tv->getLogicalDomain();
    const auto place = std::find(logical.begin(), logical.end(), id) - logical.begin();
    if (place == static_cast<std::ptrdiff_t>(axes.size())) {
      return nullptr;
    }
    root.push_back(axes[static_cast<size_t>(place)]);
  }
  return again(def, tv, windows, axes, std::move(root));
}

TensorView* ResizePropagation::stretched(const Expr* def, TensorView* tv, const Windows& windows) {
  TensorView* in = at(def->input(0)->as<TensorView>(), windows);
  if (in == nullptr) {
    return nullptr;
  }
  const std::vector<IterDomain*> axes = make_.axesThrough(tv, windows);
  std::vector<Val*> extents;
  for (const IterDomain* id : axes) {
    extents.push_back(id->getMaybeExpandedExtent());
  }
  TensorView* out = make_.tensor({}, axes, tv->dtype());
  IrBuilder::createInContainer<ExpandOp>(fusion_, out, in, extents);
  return out;
}

TensorView* ResizePropagation::reshaped(const Expr* def, const TensorView* tv,
                                        const Windows& windows) {
  const auto moved = WindowsOfReshape::of(tv, windows);
  TensorView* in = moved ? at(def->input(0)->as<TensorView>(), moved->ofRoot()) : nullptr;
  if (in == nullptr) {
    return nullptr;
  }
  std::vector<IterDomain*> root;
  for (const IterDomain* id : axesOf(in)) {
    const bool changes = tv->getRootDomain()[root.size()]->isRFactorProduct();
    root.push_back(IterDomainBuilder(id).is_rfactor_domain(changes).build());
  }
  TensorView* out = make_.tensor(root, moved->axesOver(root), tv->dtype());
  copyOperation(def, {in}, {out});
  return out;
}

TensorView* ResizePropagation::counted(const IotaOp* op, TensorView* tv, const Windows& windows) {
  Val* offset = Simplify::maybeCastExpr(op->start()->dtype(), windows[0].start);
  Val* start = Simplify::addExpr(op->start(), Simplify::mulExpr(op->step(), offset));
  Val* step = op->step();
  if (windows[0].step != 1) {
    step = Simplify::mulExpr(step, IrBuilder::createInContainer<Val>(
                                       fusion_, PolymorphicValue(windows[0].step), step->dtype()));
  }
  TensorView* out = make_.tensor({}, make_.axesThrough(tv, windows), tv->dtype());
  IrBuilder::createInContainer<IotaOp>(fusion_, out, windows[0].extent, start, step);
  return out;
}

}  // namespace nvfuser::scheduler_tools
