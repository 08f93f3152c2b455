#include <scheduler/resize_to_inputs.h>

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <ir/size_arithmetic.h>
#include <scheduler/copy_operation.h>
#include <scheduler/resize_windows.h>

namespace nvfuser::scheduler_tools {

namespace {

using Simplify = SimplifyingIrBuilder;

/// Operations that may be made beside as many as the fusion has; a resize beyond that stays what it
/// is. Each step of a stencil needs the one before it through one window more, so n steps in one
/// kernel are n²/2 steps' work: what is done again may not be more than what is done.
constexpr int64_t kMoreOperations = 32;

std::vector<IterDomain*> axesOf(const TensorView* tv) {
  return TensorDomain::noReductions(tv->getLogicalDomain());
}

bool isResize(const Expr* expr) { return expr->isOneOf<SliceOp, PadOp, CatOp>(); }

/// The pads that a concatenation joins; nothing if one of its operands is none.
std::vector<const PadOp*> padsOf(const CatOp* cat) {
  std::vector<const PadOp*> pads;
  for (const Val* in : cat->inputs()) {
    const Expr* def = in->definition();
    if (def == nullptr || !def->isA<PadOp>()) {
      return {};
    }
    pads.push_back(def->as<PadOp>());
  }
  return pads;
}

bool isComputed(const Val* val) { return val->definition() != nullptr && !val->isFusionInput(); }

/// Whether the resize reads a tensor that is computed (by more than the pads of a concatenation).
bool readsComputed(const Expr* resize) {
  if (!resize->isA<CatOp>()) {
    return isComputed(resize->input(0));
  }
  const std::vector<const PadOp*> pads = padsOf(resize->as<CatOp>());
  return std::any_of(pads.begin(), pads.end(),
                     [](const PadOp* pad) { return isComputed(pad->in()); });
}

/// Whether the operation may be given zeros that nobody asked for: dividing integers by them traps.
bool takesZeros(const Expr* expr) {
  if (!expr->isA<BinaryOp>() || !isIntegralType(expr->output(0)->dtype())) {
    return true;
  }
  using enum BinaryOpType;
  const BinaryOpType type = expr->as<BinaryOp>()->getBinaryOpType();
  return type != Div && type != Fmod && type != Remainder && type != Mod && type != CeilDiv &&
         type != Pow && type != Gcd;
}

class Propagation {
 public:
  Propagation(Fusion* fusion, bool reads_at_indices)
      : fusion_(fusion), reads_at_indices_(reads_at_indices) {}

  void run() {
    const std::vector<Expr*> exprs = fusion_->exprs();
    left_ = kMoreOperations + std::count_if(exprs.begin(), exprs.end(), [](const Expr* expr) {
              return !tensorOutputs(expr).empty();
            });
    for (Expr* expr : exprs) {
      if (!isResize(expr) || !readsComputed(expr)) {
        continue;
      }
      auto* old = expr->output(0)->as<TensorView>();
      const std::vector<Expr*> readers = fusion_->usesOf(old);
      // A resize of a resize is part of the last one's windows.
      const bool is_last = old->isFusionOutput() ||
                           std::any_of(readers.begin(), readers.end(),
                                       [](const Expr* reader) { return !isResize(reader); });
      if (!is_last || !hasPlainMemory(old)) {
        continue;
      }
      if (TensorView* result = throughResize(expr, Windows(axesOf(old).size()))) {
        replace(old, result);
      }
    }
    sweep();
  }

 private:
  // ---- making tensors

  TensorView* tensor(std::vector<IterDomain*> root, std::vector<IterDomain*> logical,
                     DataType dtype) {
    auto* domain = IrBuilder::createInContainer<TensorDomain>(
        fusion_, std::move(root), logical, std::vector<IterDomain*>{}, logical,
        TensorDomain::getContiguityFilledWith(logical, true));
    return IrBuilder::createInContainer<TensorView>(fusion_, domain, dtype, MemoryType::Local);
  }

  IterDomain* axis(Val* extent, bool of_resize = false) {
    return IterDomainBuilder(fusion_->zeroVal(DataType::Index), extent)
        .is_rfactor_domain(of_resize)
        .build();
  }

  /// Axes of what `tv` looks like through its windows.
  std::vector<IterDomain*> axesThrough(const TensorView* tv, const Windows& windows) {
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

  IterDomain* resizedAxis(IterDomain* id, const Window& window) {
    Val* stop = SizeArithmetic::sum(window.start, window.extent);
    Val* left = SizeArithmetic::difference(fusion_->zeroVal(DataType::Index), window.start);
    Val* right = SizeArithmetic::difference(stop, id->getMaybeExpandedExtent());
    IterDomain* result = axis(window.extent, true);
    IrBuilder::createInContainer<Resize>(fusion_, result, id, left, right);
    return result;
  }

  /// An input through its windows: a slice, or a pad with zeros around it.
  TensorView* windowOf(TensorView* tv, const Windows& windows) {
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
      Val* stop = SizeArithmetic::sum(window.start, window.extent);
      ranges.insert(ranges.end(), {window.start, stop, fusion_->oneVal(DataType::Index)});
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

  /// Whether the index along an axis of a tensor like `like` is below (or, with `from`, at least)
  /// `bound`.
  TensorView* compare(const TensorView* like, size_t place, Val* bound, bool from) {
    const std::vector<IterDomain*> axes = axesOf(like);
    Val* extent = axes[place]->getMaybeExpandedExtent();
    TensorView* index = tensor({}, {axis(extent)}, DataType::Index);
    IrBuilder::createInContainer<IotaOp>(fusion_, index, extent, fusion_->zeroVal(DataType::Index),
                                         fusion_->oneVal(DataType::Index));
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

  TensorView* where(TensorView* condition, Val* then, Val* otherwise) {
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

  // ---- the way to the inputs

  /// `tv` through windows: itself if nothing moves, null if that cannot be computed from inputs, or
  /// would be computed too often.
  TensorView* at(TensorView* tv, Windows windows) {
    const std::vector<IterDomain*> axes = axesOf(tv);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (windows[i].isMoved() && axes[i]->isBroadcast()) {
        if (!axes[i]->hasExpandedExtent()) {
          windows[i] = Window();  // one element, wherever it is read
        } else if (!isComputed(tv)) {
          return nullptr;
        }
      }
      if (windows[i].isMoved() && windows[i].start->isZero() &&
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
        key.insert(key.end(), {0, 0, 0, 0, 0});
        continue;
      }
      const Fingerprint start = window.start->fingerprint();
      const Fingerprint extent = window.extent->fingerprint();
      key.insert(key.end(), {start.high, start.low, extent.high, extent.low, window.inside});
    }
    const auto known = copies_.find(key);
    if (known != copies_.end()) {
      return known->second;
    }
    TensorView* result = nullptr;
    if (--left_ >= 0) {
      result = isComputed(tv) ? through(tv, windows) : windowOf(tv, windows);
    }
    copies_.emplace(std::move(key), result);
    return result;
  }

  /// Windows of an operand: those of the axes that its axes become.
  static Windows windowsOf(const Expr* expr, const TensorView* operand, const TensorView* result,
                           const Windows& windows) {
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

  /// Whether an axis that is repeated is windowed, and others read the one element that there was:
  /// loops with that axis and loops without it would share its computation.
  static bool isSharedBeforeRepeat(const Expr* repeat, const Windows& windows) {
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

  TensorView* through(TensorView* tv, const Windows& windows) {
    Expr* def = tv->definition();
    switch (def->kind()) {
      case ExprKind::UnaryOp:
      case ExprKind::BinaryOp:
      case ExprKind::TernaryOp:
      case ExprKind::BroadcastOp:
      case ExprKind::SqueezeOp:
      case ExprKind::FullOp:
        return again(def, tv, windows, axesThrough(tv, windows));
      case ExprKind::RepeatOp:
        return isSharedBeforeRepeat(def, windows)
                   ? nullptr
                   : again(def, tv, windows, axesThrough(tv, windows));
      case ExprKind::LoadStoreOp:
        return tv->hasRoot() ? permuted(def, tv, windows)
                             : again(def, tv, windows, axesThrough(tv, windows));
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

  /// An input at an index, through windows: those of axes that are the index's are windows of the
  /// index; along the others the read itself has one, and gives anything outside of it.
  TensorView* readOf(const Expr* def, const TensorView* tv, const Windows& windows) {
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
        if (both || !windows[i].inside) {
          return nullptr;
        }
        of_index[i] = windows[i];
        root[i] = logical[i] = axis(windows[i].extent);
      } else {
        logical[i] = resizedAxis(root[i], windows[i]);
        is_resized = true;
      }
    }
    std::vector<Val*> operands = def->inputs();
    if (gathers) {
      operands[1] = at(operands[1]->as<TensorView>(), of_index);
      if (operands[1] == nullptr) {
        return nullptr;
      }
    }
    TensorView* out = tensor(is_resized ? root : std::vector<IterDomain*>{}, logical, tv->dtype());
    copyOperation(def, std::move(operands), {out});
    return out;
  }

  TensorView* again(const Expr* def, TensorView* tv, const Windows& windows,
                    const std::vector<IterDomain*>& axes, std::vector<IterDomain*> root = {}) {
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
    TensorView* out = tensor(std::move(root), axes, tv->dtype());
    copyOperation(def, std::move(operands), {out});
    return out;
  }

  TensorView* permuted(const Expr* def, TensorView* tv, const Windows& windows) {
    const std::vector<IterDomain*> axes = axesThrough(tv, windows);
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

  /// One element, stretched to the window's extent.
  TensorView* stretched(const Expr* def, TensorView* tv, const Windows& windows) {
    TensorView* in = at(def->input(0)->as<TensorView>(), windows);
    if (in == nullptr) {
      return nullptr;
    }
    const std::vector<IterDomain*> axes = axesThrough(tv, windows);
    std::vector<Val*> extents;
    for (const IterDomain* id : axes) {
      extents.push_back(id->getMaybeExpandedExtent());
    }
    TensorView* out = tensor({}, axes, tv->dtype());
    IrBuilder::createInContainer<ExpandOp>(fusion_, out, in, extents);
    return out;
  }

  TensorView* reshaped(const Expr* def, const TensorView* tv, const Windows& windows) {
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
    TensorView* out = tensor(root, moved->axesOver(root), tv->dtype());
    copyOperation(def, {in}, {out});
    return out;
  }

  TensorView* counted(const IotaOp* op, TensorView* tv, const Windows& windows) {
    Val* offset = Simplify::maybeCastExpr(op->start()->dtype(), windows[0].start);
    Val* start = Simplify::addExpr(op->start(), Simplify::mulExpr(op->step(), offset));
    TensorView* out = tensor({}, axesThrough(tv, windows), tv->dtype());
    IrBuilder::createInContainer<IotaOp>(fusion_, out, windows[0].extent, start, op->step());
    return out;
  }

  // ---- slices, pads and concatenations

  /// The window of an axis behind which another resize lies: one that begins `by` elements later
  /// (earlier, if negative) in the operand.
  Window shifted(const Window& window, const IterDomain* axis_of_result, Val* by, bool inside) {
    Window result = window;
    if (!window.isMoved()) {
      result = {fusion_->zeroVal(DataType::Index), axis_of_result->getMaybeExpandedExtent(), true};
    }
    result.start = SizeArithmetic::sum(result.start, by);
    result.inside &= inside;
    return result;
  }

  TensorView* throughResize(Expr* def, const Windows& windows) {
    const auto* tv = def->output(0)->as<TensorView>();
    switch (def->kind()) {
      case ExprKind::SliceOp: {
        const auto* op = def->as<SliceOp>();
        const std::vector<IterDomain*> axes = axesOf(tv);
        Windows moved = windows;
        for (size_t i = 0; i < axes.size(); ++i) {
          if (isResized(tv, i)) {
            moved[i] = shifted(windows[i], axes[i], op->start(i), true);
          }
        }
        return at(op->in()->as<TensorView>(), std::move(moved));
      }
      case ExprKind::PadOp:
        return padded(def->as<PadOp>(), windows, true);
      default:
        return joined(def->as<CatOp>(), windows);
    }
  }

  /// Whether the operation makes another axis of its i-th.
  static bool isResized(const TensorView* tv, size_t i) {
    const Expr* def = axesOf(tv)[i]->definition();
    return def != nullptr && def->isA<Resize>();
  }

  /// What is padded, where it is; around it the pad's value, or (not `exact`) anything.
  TensorView* padded(const PadOp* op, const Windows& windows, bool exact) {
    const auto* tv = op->out()->as<TensorView>();
    const std::vector<IterDomain*> axes = axesOf(tv);
    const std::vector<IterDomain*> own = axesOf(op->in()->as<TensorView>());
    Windows moved = windows;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (isResized(tv, i)) {
        moved[i] = shifted(windows[i], axes[i], Simplify::negExpr(op->leftWidth(i)), false);
      }
    }
    TensorView* result = at(op->in()->as<TensorView>(), moved);
    if (result == nullptr || !exact) {
      return result;
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!isResized(tv, i)) {
        continue;
      }
      // Element j is padded one −start, so there is something from j = −start on.
      Val* zero = fusion_->zeroVal(DataType::Index);
      Val* begin = SizeArithmetic::difference(zero, moved[i].start);
      Val* end = SizeArithmetic::sum(begin, own[i]->getMaybeExpandedExtent());
      if (!begin->isZero()) {
        result = where(compare(result, i, begin, true), result, op->value());
      }
      if (!end->sameAs(moved[i].extent)) {
        result = where(compare(result, i, end, false), result, op->value());
      }
    }
    return result;
  }

  TensorView* joined(const CatOp* op, const Windows& windows) {
    const std::vector<const PadOp*> pads = padsOf(op);
    if (pads.empty()) {
      return nullptr;
    }
    const auto dim = static_cast<size_t>(op->concatenatedDim());
    TensorView* result = nullptr;
    for (size_t k = pads.size(); k-- > 0;) {
      TensorView* part = padded(pads[k], windows, false);
      if (part == nullptr) {
        return nullptr;
      }
      if (result == nullptr) {
        result = part;
        continue;
      }
      Val* end = pads[k + 1]->leftWidth(dim);
      if (windows[dim].isMoved()) {
        end = SizeArithmetic::difference(end, windows[dim].start);
      }
      result = where(compare(result, dim, end, false), part, result);
    }
    return result;
  }

  // ---- the graph

  /// Whether another tensor can be laid out in memory as this output is.
  static bool hasPlainMemory(const TensorView* tv) {
    const auto& memory = tv->getMaybeAllocationDomain();
    const auto& logical = tv->getLogicalDomain();
    return std::all_of(memory.begin(), memory.end(), [&](const IterDomain* id) {
      return std::find(logical.begin(), logical.end(), id) != logical.end();
    });
  }

  void replace(TensorView* old, TensorView* with) {
    for (Expr* reader : fusion_->usesOf(old)) {
      fusion_->replaceInput(reader, old, with);
    }
    if (!old->isFusionOutput()) {
      return;
    }
    if (with->isFusionInput() || with->isFusionOutput()) {
      TensorView* copy = tensor({}, IterDomain::clone(axesOf(with)), with->dtype());
      IrBuilder::createInContainer<LoadStoreOp>(fusion_, LoadStoreOpType::Set, copy, with);
      with = copy;
    }
    // In the same order in memory.
    const std::vector<IterDomain*>& logical = old->getLogicalDomain();
    if (old->hasAllocation()) {
      std::vector<IterDomain*> ordered;
      for (const IterDomain* id : old->getAllocationDomain()) {
        const auto place = std::find(logical.begin(), logical.end(), id) - logical.begin();
        ordered.push_back(with->getLogicalDomain()[static_cast<size_t>(place)]);
      }
      with->setAllocationDomain(ordered, old->getContiguity());
    }
    fusion_->replaceOutput(old, with);
  }

  /// Operations that lead to no output go.
  void sweep() {
    const std::vector<Expr*> alive = fusion_->exprs();
    const std::unordered_set<const Expr*> kept(alive.begin(), alive.end());
    std::vector<Expr*> dead;
    for (const auto& expr : fusion_->allExprs()) {
      if (kept.count(expr.get()) == 0 && !tensorOutputs(expr.get()).empty()) {
        dead.push_back(expr.get());
      }
    }
    for (Expr* expr : dead) {
      fusion_->removeExpr(expr);
    }
  }

  Fusion* fusion_;
  bool reads_at_indices_;
  /// A tensor and its windows.
  using View = std::vector<uint64_t>;
  std::map<View, TensorView*> copies_;
  int64_t left_ = 0;  ///< operations that may be made
};

}  // namespace

bool resizesComputed(const Fusion& fusion) {
  const std::vector<Expr*> exprs = fusion.exprs();
  return std::any_of(exprs.begin(), exprs.end(),
                     [](const Expr* expr) { return isResize(expr) && readsComputed(expr); });
}

void propagateResizeToInputs(Fusion* fusion, bool reads_at_indices) {
  FusionGuard guard(fusion);
  Propagation(fusion, reads_at_indices).run();
}

}  // namespace nvfuser::scheduler_tools
