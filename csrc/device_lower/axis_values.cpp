/// From the loops around a statement to the index of every axis that they lead to.
#include <algorithm>
#include <deque>
#include <functional>
#include <set>

#include <device_lower/along_loops.h>
#include <device_lower/follow_transform.h>
#include <device_lower/indexer.h>
#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

namespace {

bool isSameTransform(const Expr* a, const Expr* b, const IdGraph& exact) {
  const auto alike = [&](const std::vector<Val*>& x, const std::vector<Val*>& y) {
    return x.size() == y.size() &&
           std::equal(x.begin(), x.end(), y.begin(), [&](const Val* p, const Val* q) {
             return exact.mapped(p->as<IterDomain>(), q->as<IterDomain>());
           });
  };
  return a == b || (a->kind() == b->kind() && alike(a->inputs(), b->inputs()) &&
                    alike(a->outputs(), b->outputs()));
}

}  // namespace

namespace {

/// The first of each kind of transform between the same classes. (Resizes are told apart by what
/// they add, too; they are few.)
std::vector<const Expr*> distinct(const std::vector<Expr*>& transforms, const IdGraph& exact) {
  std::vector<const Expr*> result;
  std::set<std::vector<int>> seen;
  for (const Expr* expr : transforms) {
    std::vector<int> key{static_cast<int>(expr->kind())};
    for (const auto* axes : {&expr->inputs(), &expr->outputs()}) {
      for (const Val* axis : *axes) {
        key.push_back(exact.classOf(axis->as<IterDomain>()));
      }
    }
    if (expr->isA<Resize>() || seen.insert(std::move(key)).second) {
      result.push_back(expr);
    }
  }
  return result;
}

}  // namespace

Indexer::Indexer(const IdGraph& exact, LoopModel& loops, Symbols& symbols, Allocations& allocations)
    : exact_(exact), loops_(loops), symbols_(symbols), allocations_(allocations) {
  for (int c = 0; c < exact.numClasses(); ++c) {
    definitions_.push_back(distinct(exact.definitions(c), exact));
    uses_.push_back(distinct(exact.uses(c), exact));
    const auto& members = exact.members(c);
    if (std::any_of(members.begin(), members.end(), [](const IterDomain* id) {
          return id->isBroadcast() && id->definition() == nullptr;
        })) {
      broadcasts_.push_back(c);
    }
  }
}

Scalar AxisValues::of(const IterDomain* id) const {
  if (auto own = own_.find(id); own != own_.end()) {
    return own->second;
  }
  if (auto own = own_of_loops_.find(id); own != own_of_loops_.end()) {
    return own->second;
  }
  const int id_class = exact_->classOf(id);
  return id_class < 0 ? nullptr : by_class_[static_cast<size_t>(id_class)];
}

Scalar AxisValues::ofLoops(const IterDomain* id) const {
  if (auto own = own_of_loops_.find(id); own != own_of_loops_.end()) {
    return own->second;
  }
  const int id_class = exact_->classOf(id);
  const bool known = id_class >= 0 && from_loops_[static_cast<size_t>(id_class)];
  return known ? by_class_[static_cast<size_t>(id_class)] : nullptr;
}

bool AxisValues::isAmbiguous(const IterDomain* id) const {
  const int id_class = exact_->classOf(id);
  return id_class >= 0 && ambiguous_[static_cast<size_t>(id_class)];
}

bool AxisValues::isMetTwice(const IterDomain* id) const {
  const int id_class = exact_->classOf(id);
  return id_class >= 0 && met_twice_[static_cast<size_t>(id_class)];
}

AxisValues Indexer::around(const Leaf& leaf,
                           const std::unordered_map<const LoopClass*, Scalar>& replaced) const {
  AxisValues values(exact_, symbols_);
  values.by_class_.resize(static_cast<size_t>(exact_.numClasses()), nullptr);
  values.ambiguous_.resize(values.by_class_.size(), false);
  values.met_twice_.resize(values.by_class_.size(), false);
  values.behind_met_twice_.resize(values.by_class_.size(), false);
  values.from_loops_.resize(values.by_class_.size(), false);
  std::deque<int> open;
  // The transform by which each class was reached, and the one that is looked at. To go it back is
  // no second way to an axis.
  std::vector<const Expr*> reached(values.by_class_.size(), nullptr);
  const Expr* by = nullptr;
  bool goes_back = false;
  const SetIndex set = [&](const IterDomain* id, Scalar index) {
    const int id_class = exact_.classOf(id);
    if (id_class < 0) {
      return;
    }
    const auto c = static_cast<size_t>(id_class);
    if (values.by_class_[c] != nullptr) {
      const bool other = !goes_back && values.by_class_[c] != index;
      values.ambiguous_[c] = values.ambiguous_[c] || other;
      return;
    }
    values.by_class_[c] = index;
    reached[c] = by;
    open.push_back(id_class);
  };
  const IndexOf get = [&](const IterDomain* id) { return values.of(id); };
  auto follow = [&](const Expr* expr) {
    // A tensor beside a part of itself, x[i] + pad(x)[i], makes an axis its own resize: that leads
    // nowhere, and is no second index of the axis.
    if (expr->isA<Resize>() &&
        exact_.mapped(expr->input(0)->as<IterDomain>(), expr->output(0)->as<IterDomain>())) {
      return;
    }
    by = expr;
    goes_back = false;
    for (const auto* axes : {&expr->inputs(), &expr->outputs()}) {
      for (const Val* axis : *axes) {
        const int id_class = exact_.classOf(axis->as<IterDomain>());
        const Expr* way = id_class < 0 ? nullptr : reached[static_cast<size_t>(id_class)];
        goes_back = goes_back || (way != nullptr && isSameTransform(way, expr, exact_));
      }
    }
    followTransform(expr, symbols_, get, set);
  };
  // Back from x's flattened axes to them. Where other loops have led to one of these otherwise, the
  // flattened axis is met twice, too: it is not what those loops would flatten to.
  auto followMerge = [&](const Expr* expr) {
    by = expr;
    goes_back = false;
    const SetIndex set_or_note = [&](const IterDomain* id, Scalar index) {
      const int id_class = exact_.classOf(id);
      const auto c = static_cast<size_t>(id_class);
      if (id_class < 0 || values.by_class_[c] == nullptr || reached[c] == nullptr) {
        set(id, index);
      } else if (values.by_class_[c] != index && !isSameTransform(reached[c], expr, exact_)) {
        values.met_twice_[c] = true;
        const int flat = exact_.classOf(expr->output(0)->as<IterDomain>());
        values.met_twice_[static_cast<size_t>(flat)] = true;
      }
    };
    followTransform(expr, symbols_, get, set_or_note);
    // Both parts may be one class: i·j merged with k, where x[i, j] is reshaped to k.
    const auto* merge = expr->as<Merge>();
    if (exact_.mapped(merge->outer(), merge->inner())) {
      values.met_twice_[static_cast<size_t>(exact_.classOf(merge->outer()))] = true;
    }
  };
  for (const LoopClass* loop : leaf.path) {
    auto found = replaced.find(loop);
    Scalar index = found != replaced.end() ? found->second : iteration(loop);
    values.by_loop_[loop] = index;
    // (Two loops may run over axes of one class, as those of x and transpose(x) do.)
    const int id_class = exact_.classOf(loop->promoted);
    const Scalar other = id_class < 0 ? nullptr : values.by_class_[static_cast<size_t>(id_class)];
    if (other == nullptr) {
      set(loop->promoted, index);
    } else if (other != index) {
      values.met_twice_[static_cast<size_t>(id_class)] = true;
    }
  }
  // A loop of one iteration is one of each axis, also of a broadcast axis that is longer.
  for (const TensorView* tv : tensorOutputs(leaf.expr)) {
    for (const LoopClass* loop : leaf.path) {
      const IterDomain* own = loop->extent->isConstant(1) ? ownAxis(tv, *loop) : nullptr;
      const int id_class = own != nullptr && own->isBroadcast() ? exact_.classOf(own) : -1;
      if (id_class >= 0 && values.by_class_[static_cast<size_t>(id_class)] == nullptr) {
        set(own, symbols_.pool().zero());
      }
    }
  }
  // Backward alone first, from the schedule to the shapes. What follows from shapes may be another
  // index: in cat(a, b) the axes of a and b lead to each other, but are no one loop's.
  for (size_t next = 0; next < open.size(); ++next) {
    for (const Expr* expr : definitions_[static_cast<size_t>(open[next])]) {
      if (expr->isA<Resize>()) {
        continue;
      }
      // Of several reshapes that made an axis, the first leads back. But an axis that is a loop and
      // that other loops lead back to has two indices; one that loops lead back to in two ways has
      // that of its tensor's own loops (followOwnLoops).
      if (expr->isA<Merge>()) {
        followMerge(expr);
        continue;
      }
      const int source = exact_.classOf(expr->input(0)->as<IterDomain>());
      if (values.by_class_[static_cast<size_t>(source)] == nullptr) {
        follow(expr);
        continue;
      }
      const Expr* way = reached[static_cast<size_t>(source)];
      by = expr;
      goes_back = false;
      const IndexOf of_others = [&](const IterDomain* id) {
        return exact_.classOf(id) == source ? nullptr : values.of(id);
      };
      const SetIndex note_other = [&](const IterDomain* id, Scalar index) {
        const auto c = static_cast<size_t>(source);
        values.met_twice_[c] =
            values.met_twice_[c] || (exact_.classOf(id) == source && values.by_class_[c] != index);
      };
      const bool is_other_way = way != nullptr && !isSameTransform(way, expr, exact_);
      if (way == nullptr || is_other_way) {
        followTransform(expr, symbols_, of_others, way == nullptr ? set : note_other);
      }
    }
  }
  for (int id_class : open) {
    values.from_loops_[static_cast<size_t>(id_class)] = true;
    noteBehind(id_class, reached, values);
  }
  for (const TensorView* tv : tensorOutputs(leaf.expr)) {
    requireOneIndex(tv, values);
  }
  for (int c : broadcasts_) {
    if (values.by_class_[static_cast<size_t>(c)] == nullptr) {
      by = nullptr;
      set(exact_.members(c)[0], symbols_.pool().zero());
    }
  }
  while (!open.empty()) {
    const int id_class = open.front();
    open.pop_front();
    // Backward first: from the schedule towards the shape.
    for (const Expr* expr : definitions_[static_cast<size_t>(id_class)]) {
      follow(expr);
    }
    for (const Expr* expr : uses_[static_cast<size_t>(id_class)]) {
      follow(expr);
    }
  }
  followOwnLoops(leaf, values);
  for (const TensorView* tv : tensorOutputs(leaf.expr)) {
    followRoots(tv, values);
  }
  return values;
}

void Indexer::noteBehind(int id_class, const std::vector<const Expr*>& reached,
                         AxisValues& values) const {
  const auto c = static_cast<size_t>(id_class);
  if (!values.met_twice_[c] && !values.behind_met_twice_[c]) {
    return;
  }
  for (const Expr* expr : definitions_[static_cast<size_t>(id_class)]) {
    for (const Val* in : expr->inputs()) {
      const int source = exact_.classOf(in->as<IterDomain>());
      const Expr* way = source < 0 ? nullptr : reached[static_cast<size_t>(source)];
      if (way != nullptr && isSameTransform(way, expr, exact_)) {
        values.behind_met_twice_[static_cast<size_t>(source)] = true;
      }
    }
  }
}

void Indexer::requireOneIndex(const TensorView* tv, const AxisValues& values) {
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (!id->isBroadcast() && values.isAmbiguous(id)) {
      userError(
          "lower: the loops around ", tv, " go through its axis ", id,
          " twice, once for itself and once for a tensor that shares some of them; inline it, "
          "and what it reads, at a smaller position");
    }
  }
}

void Indexer::followOwnLoops(const Leaf& leaf, AxisValues& values) const {
  const auto isAmong = [&](const std::vector<bool>& classes, const IterDomain* id) {
    const int id_class = exact_.classOf(id);
    return id_class >= 0 && classes[static_cast<size_t>(id_class)];
  };
  const auto isBehind = [&](const IterDomain* id) {
    return isAmong(values.behind_met_twice_, id) && !isAmong(values.met_twice_, id);
  };
  const auto metTwice = [&](const IterDomain* id) {
    return isAmong(values.met_twice_, id) || isAmong(values.behind_met_twice_, id);
  };
  if (std::none_of(values.met_twice_.begin(), values.met_twice_.end(), std::identity())) {
    return;
  }
  std::unordered_map<const IterDomain*, Scalar> known;
  const IndexOf get = [&](const IterDomain* id) -> Scalar {
    auto found = known.find(id);
    return found == known.end() ? nullptr : found->second;
  };
  const SetIndex set = [&](const IterDomain* id, Scalar index) { known.emplace(id, index); };
  const auto followBack = [&](const TensorView* tv) {
    for (const IterDomain* id : tv->domain()->allIDs()) {
      if (Scalar index = metTwice(id) ? nullptr : values.ofLoops(id)) {
        set(id, index);
      }
    }
    const std::vector<Expr*> transforms = tv->domain()->allExprs();
    for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
      const auto& outputs = (*it)->outputs();
      // Where its own loops do not lead to what follows from an axis met twice, those of others do.
      for (const Val* out : outputs) {
        const auto* id = out->as<IterDomain>();
        if (Scalar index = isBehind(id) ? values.ofLoops(id) : nullptr) {
          set(id, index);
        }
      }
      const bool is_known = std::all_of(outputs.begin(), outputs.end(), [&](const Val* out) {
        return get(out->as<IterDomain>()) != nullptr;
      });
      if (is_known) {
        followTransform(*it, symbols_, get, set);
      }
    }
  };
  for (const LoopClass* loop : leaf.path) {
    set(loop->promoted, values.ofLoop(loop));
  }
  for (const LoopClass* loop : leaf.path) {
    followBack(exact_.tensorOf(loop->promoted));
  }
  for (const TensorView* tv : tensorOutputs(leaf.expr)) {
    std::vector<OwnAndLoop> loops;
    for (const LoopClass* loop : leaf.path) {
      loops.emplace_back(ownAxis(tv, *loop), loop->promoted);
    }
    for (const auto& [own, promoted] : alongLoops(tv, std::move(loops), exact_).axes) {
      // (What it has in the loops may be another class of the same length: its own axis was made of
      // a broadcast axis and this one, theirs of two others.)
      const bool is_same =
          own != nullptr && promoted != nullptr && !own->isBroadcast() &&
          (exact_.mapped(own, promoted) || symbols_.extent(own) == symbols_.extent(promoted));
      if (Scalar index = is_same ? get(promoted) : nullptr) {
        set(own, index);
      }
    }
    followBack(tv);
  }
  for (const auto& [id, index] : known) {
    if (metTwice(id)) {
      values.own_of_loops_[id] = index;
    }
  }
}

void Indexer::followRoots(const TensorView* tv, AxisValues& values) const {
  if (!tv->hasRoot()) {
    return;
  }
  std::unordered_map<const IterDomain*, Scalar> known;
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (Scalar index = values.of(id)) {
      known[id] = index;
    }
  }
  bool changed = true;
  const IndexOf get = [&](const IterDomain* id) -> Scalar {
    auto found = known.find(id);
    return found == known.end() ? nullptr : found->second;
  };
  const SetIndex set = [&](const IterDomain* id, Scalar index) {
    changed |= known.emplace(id, index).second;
  };
  // Backward alone: what is known comes from the logical axes.
  const std::vector<Expr*> transforms = tv->domain()->allExprs();
  while (changed) {
    changed = false;
    for (const Expr* expr : transforms) {
      const auto& outputs = expr->outputs();
      if (std::all_of(outputs.begin(), outputs.end(),
                      [&](const Val* out) { return get(out->as<IterDomain>()) != nullptr; })) {
        followTransform(expr, symbols_, get, set);
      }
    }
  }
  for (const IterDomain* id : tv->getRootDomain()) {
    if (Scalar index = get(id)) {
      values.own_[id] = index;
    }
  }
}

}  // namespace nvfuser
