#include <iteration_space/places.h>

#include <algorithm>

#include <iteration_space/follow_transform.h>

namespace nvfuser {

using kir::Scalar;

namespace {

template <typename Key>
Scalar lookUp(const std::unordered_map<Key, Scalar>& indices, Key key) {
  const auto found = indices.find(key);
  return found == indices.end() ? nullptr : found->second;
}

/// Whether an axis has an element at each of several indices.
bool hasElements(const IterDomain* id) { return !id->isBroadcast() && !id->extent()->isOneInt(); }

template <typename Indices>
bool areKnown(const std::vector<Val*>& ids, const Indices& index) {
  return std::all_of(ids.begin(), ids.end(),
                     [&](const Val* id) { return index(id->as<IterDomain>()) != nullptr; });
}

/// What a transform gives back has the index of what it was, without a division, which would ask
/// whether loops stay below a part's extent.
template <typename Get, typename Set>
void setRestored(const Expr* expr, const RestoredAxes& restored, const Get& get, const Set& set) {
  for (const Val* out : expr->outputs()) {
    const auto found = restored.find(out->as<IterDomain>());
    if (found != restored.end() && areKnown(expr->outputs(), get)) {
      set(found->second, get(found->first));
    }
  }
}

/// A loop of one turn is one of each axis, also of a broadcast axis that is longer.
bool isTurnOf(const IterDomain* own, const LoopClass& loop) {
  return own->isBroadcast() && loop.extent->isConstant(1);
}

}  // namespace

Places::Places(const std::vector<const TensorView*>& tensors, std::vector<LoopAt> loops,
               const IdGraph& exact, Symbols& symbols)
    : exact_(&exact), symbols_(&symbols), loops_(std::move(loops)) {
  const std::vector<LoopAt> around = loops_;
  for (const TensorView* tv : tensors) {
    for (const LoopAt& at : around) {
      const IterDomain* own = ownAxis(tv, *at.loop);
      if (own != nullptr && own != at.over && isTurnOf(own, *at.loop)) {
        loops_.push_back({at.loop, own, at.index});
      }
    }
  }
  walkLoops(exact);
  loops_ = around;
  for (const TensorView* tv : tensors) {
    walkOwn(tv);
  }
}

Scalar Places::index(const IterDomain* own) const { return lookUp(own_, own); }

Scalar Places::indexInLoops(const IterDomain* id) const {
  const Scalar index = lookUp(in_loops_, id);
  return index != nullptr ? index : lookUp(class_in_loops_, exact_->classOf(id));
}

Scalar Places::indexOfClass(const IterDomain* id) const {
  return lookUp(by_class_, exact_->classOf(id));
}

bool Places::isGoneThrough(const IterDomain* id) const {
  const auto found = by_class_.find(exact_->classOf(id));
  return found != by_class_.end() && (found->second == nullptr || !found->second->isConstant(0));
}

void Places::noteClass(const IterDomain* id, Scalar index) {
  const int id_class = exact_->classOf(id);
  const auto [entry, is_new] = by_class_.emplace(id_class, index);
  if (!is_new && entry->second != index) {
    entry->second = nullptr;
  }
}

void Places::walkLoops(const IdGraph& exact) {
  bool changed = true;
  const auto set = [&](const IterDomain* id, Scalar index) {
    if (in_loops_.emplace(id, index).second) {
      changed = true;
      class_in_loops_.emplace(exact.classOf(id), index);
      noteClass(id, index);
    }
  };
  std::vector<std::pair<RestoredAxes, std::vector<Expr*>>> transforms;
  std::vector<const TensorView*> seen;
  for (const LoopAt& at : loops_) {
    set(at.over, at.index);
    const TensorView* tv = exact.tensorOf(at.over);
    if (std::find(seen.begin(), seen.end(), tv) == seen.end()) {
      seen.push_back(tv);
      transforms.emplace_back(restoredAxes(tv), tv->domain()->allExprs());
    }
  }
  const auto get = [&](const IterDomain* id) { return indexInLoops(id); };
  while (changed) {
    changed = false;
    for (const auto& [restored, of_tensor] : transforms) {
      for (auto it = of_tensor.rbegin(); it != of_tensor.rend(); ++it) {
        const Expr* expr = *it;
        setRestored(expr, restored, get, set);
        const bool is_done =
            std::all_of(expr->inputs().begin(), expr->inputs().end(),
                        [&](const Val* in) { return in_loops_.count(in->as<IterDomain>()) != 0; });
        if (is_done || expr->isA<Resize>() || !areKnown(expr->outputs(), get)) {
          continue;
        }
        followTransform(
            expr, *symbols_,
            [&](const IterDomain* id) {
              const auto& outs = expr->outputs();
              return std::find(outs.begin(), outs.end(), id) != outs.end() ? get(id) : nullptr;
            },
            set);
      }
    }
  }
}

bool Places::isMapped(const LoopAxis& axis) const {
  return axis.own != nullptr && (exact_->mapped(axis.own, axis.id) ||
                                 (axis.loops.size() == 1 && isTurnOf(axis.own, *axis.loops[0])));
}

bool Places::isOwn(const LoopAxis& axis) const {
  return isMapped(axis) ||
         (axis.own != nullptr && !axis.own->isBroadcast() && !axis.id->isBroadcast() &&
          symbols_->extent(axis.own) == symbols_->extent(axis.id));
}

const Expr* Places::beside(const Expr* own, const std::vector<size_t>& made,
                           const std::vector<LoopAxis>& axes) const {
  const auto other =
      std::find_if(made.begin(), made.end(), [&](size_t at) { return !isMapped(axes[at]); });
  if (other == made.end()) {
    return own;
  }
  // Parts of one element are at index 0, whichever axis they are a part of.
  const auto isPart = [&](const IterDomain* id, const IterDomain* out) {
    return exact_->mapped(id, out) || (id->extent()->isOneInt() && out->extent()->isOneInt());
  };
  const Expr* expr = axes[*other].id->definition();
  const bool is_alike = expr != nullptr && expr->kind() == own->kind() &&
                        std::equal(made.begin(), made.end(), expr->outputs().begin(),
                                   expr->outputs().end(), [&](size_t at, const Val* out) {
                                     return isPart(axes[at].id, out->as<IterDomain>());
                                   });
  return is_alike ? expr : nullptr;
}

void Places::note(const LoopAxis& axis) {
  if (axis.index != nullptr) {
    own_.emplace(axis.own, axis.index);
  }
}

std::vector<LoopAxis> Places::logicalAxes(const TensorView* tv) {
  std::vector<LoopAxis> axes;
  for (const LoopAt& at : loops_) {
    LoopAxis axis{at.over, ownAxis(tv, *at.loop), {at.loop}, at.index};
    if (at.loop->isThread() && !at.loop->extent->isConstant(1)) {
      axis.bounds.push_back(
          {at.over, at.loop->thread, at.loop->extent, nullptr, at.loop, nullptr, {at.loop}});
    }
    axes.push_back(std::move(axis));
  }
  std::set<const Val*> logical(tv->getLogicalDomain().begin(), tv->getLogicalDomain().end());
  const std::vector<Expr*> transforms = tv->domain()->allExprs();
  for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
    const Expr* expr = *it;
    if (logical.count(expr->output(0)) != 0) {
      logical.insert(expr->inputs().begin(), expr->inputs().end());
      continue;
    }
    std::vector<size_t> made;
    for (const Val* out : expr->outputs()) {
      const auto found = std::find_if(axes.begin(), axes.end(),
                                      [&](const LoopAxis& axis) { return axis.own == out; });
      if (found != axes.end()) {
        made.push_back(static_cast<size_t>(found - axes.begin()));
      }
    }
    const Expr* undone = made.size() == expr->outputs().size() ? beside(expr, made, axes) : nullptr;
    if (undone == nullptr) {
      continue;
    }
    if (undone == expr) {
      std::for_each(made.begin(), made.end(), [&](size_t at) { note(axes[at]); });
    }
    undoTransform(undone, made, expr, *symbols_, axes);
  }
  return axes;
}

const Places::Cover& Places::cover(const TensorView* tv, bool reductions) const {
  const auto [found, is_new] = covers_.try_emplace({tv, reductions});
  if (is_new) {
    found->second = findCover(tv, reductions);
  }
  return found->second;
}

Places::Cover Places::findCover(const TensorView* tv, bool reductions) const {
  Cover cover;
  cover.foreign = axes_.at(tv);
  std::vector<const IterDomain*> searched;
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (id->isBroadcast() || (!reductions && id->isReduction())) {
      continue;
    }
    const auto met =
        std::find_if(cover.foreign.begin(), cover.foreign.end(),
                     [&](const LoopAxis& axis) { return axis.own == id && isOwn(axis); });
    if (met == cover.foreign.end()) {
      if (hasElements(id)) {
        searched.push_back(id);
      }
      continue;
    }
    cover.own.push_back(*met);
    cover.foreign.erase(met);
  }
  const auto take = [&](const IterDomain* id) {
    const auto found =
        std::find_if(cover.foreign.begin(), cover.foreign.end(),
                     [&](const LoopAxis& axis) { return exact_->mapped(axis.id, id); });
    if (found == cover.foreign.end()) {
      cover.uncovered = cover.uncovered != nullptr ? cover.uncovered : id;
      return;
    }
    found->own = id;
    cover.own.push_back(*found);
    cover.foreign.erase(found);
  };
  std::set<int> classes;
  for (const IterDomain* id : searched) {
    classes.insert(exact_->classOf(id));
  }
  undoUntil(classes, *exact_, *symbols_, cover.foreign);
  std::for_each(searched.begin(), searched.end(), take);
  for (const LoopAt& at : loops_) {
    // Threads beyond a loop of one turn come to its element again, at the same index.
    if (at.loop->isThread() && at.loop->extent->isConstant(1)) {
      cover.foreign.push_back({at.over, nullptr, {at.loop}, symbols_->pool().zero()});
      cover.foreign.back().bounds.push_back(
          {at.over, at.loop->thread, at.loop->extent, nullptr, at.loop, nullptr, {at.loop}});
    }
  }
  return cover;
}

const std::vector<LoopAxis>& Places::foreign(const TensorView* tv, bool reductions) const {
  return cover(tv, reductions).foreign;
}

std::vector<AxisBound> Places::bounds(const TensorView* tv, bool reductions) const {
  std::vector<AxisBound> bounds;
  for (const LoopAxis& axis : cover(tv, reductions).own) {
    bounds.insert(bounds.end(), axis.bounds.begin(), axis.bounds.end());
  }
  const std::vector<AxisBound> of_root = boundsOfRoot(tv);
  bounds.insert(bounds.end(), of_root.begin(), of_root.end());
  return bounds;
}

Scalar Places::here(Scalar a) const {
  std::unordered_map<Scalar, Scalar> indices;
  for (const LoopAt& at : loops_) {
    if (at.loop->index != at.index && at.loop->index->op == kir::ScalarOp::Symbol) {
      indices[at.loop->index] = at.index;
    }
  }
  return indices.empty() ? a : symbols_->pool().substitute(a, indices);
}

bool Places::areEqual(Scalar a, Scalar b, const TensorView* tv) const {
  if (a == b || a == nullptr || b == nullptr) {
    return a == b && a != nullptr;
  }
  kir::ScalarPool& pool = symbols_->pool();
  std::unordered_map<Scalar, Scalar> within;
  std::unordered_map<Scalar, Scalar> unwrapped;  // what an index below its extent is, divided by it
  for (const AxisBound& bound : bounds(tv, true)) {
    if (bound.index->lo < 0 || pool.provesLess(bound.index, bound.extent)) {
      continue;
    }
    if (bound.index->op == kir::ScalarOp::Symbol) {
      const std::string name = text("(", bound.index, " below ", bound.extent, ")");
      within.emplace(bound.index, pool.symbol(name, bound.extent));
      continue;
    }
    const Scalar quotient = pool.div(bound.index, bound.extent);
    const Scalar remainder = pool.mod(bound.index, bound.extent);
    if (quotient->op == kir::ScalarOp::Div) {
      unwrapped.emplace(quotient, pool.zero());
    }
    if (remainder->op == kir::ScalarOp::Mod) {
      unwrapped.emplace(remainder, bound.index);
    }
  }
  const auto inTurns = [&](Scalar index) {
    return pool.substitute(pool.substitute(index, unwrapped), within);
  };
  return (!within.empty() || !unwrapped.empty()) && inTurns(a) == inTurns(b);
}

std::vector<AxisBound> Places::boundsOfRoot(const TensorView* tv) const {
  std::vector<AxisBound> bounds;
  std::set<const Val*> logical(tv->getLogicalDomain().begin(), tv->getLogicalDomain().end());
  const std::vector<Expr*> transforms = tv->domain()->allExprs();
  for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
    if (logical.count((*it)->output(0)) == 0) {
      continue;
    }
    logical.insert((*it)->inputs().begin(), (*it)->inputs().end());
    const auto* split = (*it)->isA<Split>() ? (*it)->as<Split>() : nullptr;
    const Scalar at = split != nullptr ? index(split->in()) : nullptr;
    if (at == nullptr) {
      continue;
    }
    const Expr* made = split->in()->definition();
    const bool is_outer =
        made != nullptr && made->isA<Split>() && made->as<Split>()->outer() == split->in();
    bounds.push_back({split->in(), at, symbols_->extent(split->in()), split, nullptr,
                      is_outer ? made->as<Split>() : nullptr});
  }
  return bounds;
}

const IterDomain* Places::uncovered(const TensorView* tv, bool reductions) const {
  return cover(tv, reductions).uncovered;
}

void Places::walkOwn(const TensorView* tv) {
  axes_[tv] = logicalAxes(tv);
  // In front of and behind the loops of a reduction nothing leads to what is reduced.
  const Cover& met = cover(tv, uncovered(tv, true) == nullptr);
  std::for_each(met.own.begin(), met.own.end(), [&](const LoopAxis& axis) { note(axis); });
  for (const LoopAxis& axis : axes_.at(tv)) {
    if (isMapped(axis)) {
      note(axis);
    }
  }
  fillIn(tv);
  for (const IterDomain* id : tv->domain()->allIDs()) {
    if (Scalar index = lookUp(own_, id)) {
      noteClass(id, index);
    }
  }
}

void Places::fillIn(const TensorView* tv) {
  const auto get = [&](const IterDomain* id) { return lookUp(own_, id); };
  bool changed = true;
  const auto set = [&](const IterDomain* id, Scalar index) {
    changed |= own_.emplace(id, index).second;
  };
  for (const auto* ids : {&tv->getLogicalDomain(), &tv->domain()->additionalIDs()}) {
    for (const IterDomain* id : *ids) {
      if (!hasElements(id) && !id->isReduction()) {
        set(id, symbols_->pool().zero());
      }
    }
  }
  const std::vector<Expr*> transforms = tv->domain()->allExprs();
  const RestoredAxes restored = restoredAxes(tv);
  const auto follow = [&](const Expr* expr) { followTransform(expr, *symbols_, get, set); };
  // What the logical axes were made from first.
  for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
    setRestored(*it, restored, get, set);
    if (areKnown((*it)->outputs(), get)) {
      follow(*it);
    }
  }
  for (const IterDomain* id : tv->getMaybeRootDomain()) {
    if (!hasElements(id)) {
      set(id, symbols_->pool().zero());
    }
  }
  while (changed) {
    changed = false;
    std::for_each(transforms.begin(), transforms.end(), follow);
  }
}

}  // namespace nvfuser
