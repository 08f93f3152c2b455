#include <device_lower/indexer.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>

#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

namespace {

/// Applies one transform to what is known of its axes, in whichever direction works. `get` gives an
/// axis's index or null; `set` is called for each axis that becomes known.
template <typename Get, typename Set>
void propagate(const Expr* expr, Symbols& symbols, const Get& get, const Set& set) {
  kir::ScalarPool& pool = symbols.pool();
  switch (expr->kind()) {
    case ExprKind::Split: {
      auto* op = expr->as<Split>();
      Scalar inner_extent = symbols.extent(op->inner());
      if (Scalar in = get(op->in())) {
        set(op->outer(), pool.div(in, inner_extent));
        set(op->inner(), pool.mod(in, inner_extent));
      } else if (Scalar outer = get(op->outer())) {
        if (Scalar inner = get(op->inner())) {
          set(op->in(), pool.add(pool.mul(outer, inner_extent), inner));
        }
      }
      break;
    }
    case ExprKind::Merge: {
      auto* op = expr->as<Merge>();
      Scalar inner_extent = symbols.extent(op->inner());
      if (Scalar out = get(op->out())) {
        if (symbols.extent(op->outer()) == pool.one()) {
          set(op->outer(), pool.zero());
          set(op->inner(), out);
        } else {
          set(op->outer(), pool.div(out, inner_extent));
          set(op->inner(), pool.mod(out, inner_extent));
        }
      } else if (Scalar outer = get(op->outer())) {
        if (Scalar inner = get(op->inner())) {
          set(op->out(), pool.add(pool.mul(outer, inner_extent), inner));
        }
      }
      break;
    }
    case ExprKind::Resize: {
      auto* op = expr->as<Resize>();
      Scalar left = symbols.of(op->leftExpand());
      if (Scalar in = get(op->in())) {
        set(op->out(), pool.add(in, left));
      } else if (Scalar out = get(op->out())) {
        set(op->in(), pool.sub(out, left));
      }
      break;
    }
    case ExprKind::Swizzle: {
      auto* op = expr->as<Swizzle>();
      const bool is_xor = op->swizzleType() == SwizzleType::XOR;
      Scalar extent = symbols.extent(op->inY());
      if (Scalar x = get(op->inX())) {
        if (Scalar y = get(op->inY())) {
          set(op->outX(), x);
          set(op->outY(), is_xor ? pool.bitXor(y, x) : pool.mod(pool.add(y, x), extent));
        }
      } else if (Scalar out_x = get(op->outX())) {
        if (Scalar out_y = get(op->outY())) {
          set(op->inX(), out_x);
          // (y + x) mod n backwards: (out + n − x mod n) mod n.
          set(op->inY(),
              is_xor
                  ? pool.bitXor(out_y, out_x)
                  : pool.mod(pool.add(out_y, pool.sub(extent, pool.mod(out_x, extent))), extent));
        }
      }
      break;
    }
    default:
      break;
  }
}

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

Scalar AxisValues::of(const IterDomain* id) const {
  if (auto own = own_roots_.find(id); own != own_roots_.end()) {
    return own->second;
  }
  const int id_class = exact_->classOf(id);
  return id_class < 0 ? nullptr : by_class_[static_cast<size_t>(id_class)];
}

Scalar AxisValues::ofLoops(const IterDomain* id) const {
  const int id_class = exact_->classOf(id);
  const bool known = id_class >= 0 && from_loops_[static_cast<size_t>(id_class)];
  return known ? by_class_[static_cast<size_t>(id_class)] : nullptr;
}

bool AxisValues::isAmbiguous(const IterDomain* id) const {
  const int id_class = exact_->classOf(id);
  return id_class >= 0 && ambiguous_[static_cast<size_t>(id_class)];
}

AxisValues Indexer::around(const Leaf& leaf,
                           const std::unordered_map<const LoopClass*, Scalar>& replaced) const {
  AxisValues values(exact_, symbols_);
  values.by_class_.resize(static_cast<size_t>(exact_.numClasses()), nullptr);
  values.ambiguous_.resize(values.by_class_.size(), false);
  values.from_loops_.resize(values.by_class_.size(), false);
  std::deque<int> open;
  // The transform by which each class was reached, and the one that is looked at. To go it back is
  // no second way to an axis.
  std::vector<const Expr*> reached(values.by_class_.size(), nullptr);
  const Expr* by = nullptr;
  bool goes_back = false;
  auto set = [&](const IterDomain* id, Scalar index) {
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
  auto get = [&](const IterDomain* id) { return values.of(id); };
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
    propagate(expr, symbols_, get, set);
  };
  for (const LoopClass* loop : leaf.path) {
    auto found = replaced.find(loop);
    set(loop->promoted, found != replaced.end() ? found->second : iteration(loop));
  }
  // Backward alone first, from the schedule to the shapes. What follows from shapes may be another
  // index: in cat(a, b) the axes of a and b lead to each other, but are no one loop's.
  for (size_t next = 0; next < open.size(); ++next) {
    for (const Expr* expr : exact_.definitions(open[next])) {
      // Of several reshapes that made an axis, the first leads back.
      const bool is_known = !expr->isA<Merge>() && get(expr->input(0)->as<IterDomain>()) != nullptr;
      if (!expr->isA<Resize>() && !is_known) {
        follow(expr);
      }
    }
  }
  for (int id_class : open) {
    values.from_loops_[static_cast<size_t>(id_class)] = true;
  }
  for (const TensorView* tv : tensorOutputs(leaf.expr)) {
    requireOneIndex(tv, values);
  }
  for (int c = 0; c < exact_.numClasses(); ++c) {
    const auto& members = exact_.members(c);
    const bool is_broadcast = std::any_of(members.begin(), members.end(), [](const IterDomain* id) {
      return id->isBroadcast() && id->definition() == nullptr;
    });
    if (is_broadcast && values.by_class_[static_cast<size_t>(c)] == nullptr) {
      by = nullptr;
      set(members[0], symbols_.pool().zero());
    }
  }
  while (!open.empty()) {
    const int id_class = open.front();
    open.pop_front();
    // Backward first: from the schedule towards the shape.
    for (const Expr* expr : exact_.definitions(id_class)) {
      follow(expr);
    }
    for (const Expr* expr : exact_.uses(id_class)) {
      follow(expr);
    }
  }
  for (const TensorView* tv : tensorOutputs(leaf.expr)) {
    followRoots(tv, values);
  }
  return values;
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
  const auto get = [&](const IterDomain* id) -> Scalar {
    auto found = known.find(id);
    return found == known.end() ? nullptr : found->second;
  };
  const auto set = [&](const IterDomain* id, Scalar index) {
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
        propagate(expr, symbols_, get, set);
      }
    }
  }
  for (const IterDomain* id : tv->getRootDomain()) {
    if (Scalar index = get(id)) {
      values.own_roots_[id] = index;
    }
  }
}

namespace {

/// `axes` of `tv` and what is made of them.
std::set<const IterDomain*> withProducts(const TensorView* tv, std::set<const IterDomain*> axes) {
  for (const Expr* expr : tv->domain()->allExprs()) {
    const bool made_of = std::any_of(expr->inputs().begin(), expr->inputs().end(), [&](Val* in) {
      return axes.count(in->as<IterDomain>()) != 0;
    });
    for (const Val* out : expr->outputs()) {
      if (made_of) {
        axes.insert(out->as<IterDomain>());
      }
    }
  }
  return axes;
}

/// Axes of `tv` of which the loops' values cannot be taken: their class has two indices here, or
/// that of an axis that they are made of has. (An axis of 16 is reshaped to 2 x 8 and met by its
/// own reshape: the part of 8 is one index as a column, another as a part of the row.)
std::set<const IterDomain*> ambiguousAxes(const TensorView* tv, const AxisValues& values) {
  std::set<const IterDomain*> result;
  for (const IterDomain* id : tv->domain()->allIDs()) {
    if (values.isAmbiguous(id)) {
      result.insert(id);
    }
  }
  return withProducts(tv, std::move(result));
}

/// Axes of `tv` with a part of a broadcast axis in them that the loops go through: split by 16, its
/// one element is computed 16 times, but perhaps stored at the first place alone.
std::set<const IterDomain*> repeatedAxes(const TensorView* tv, const AxisValues& values) {
  std::set<const IterDomain*> result;
  for (const IterDomain* id : tv->domain()->allIDs()) {
    Scalar index = id->isBroadcast() ? values.of(id) : nullptr;
    if (index != nullptr && !index->isConstant(0)) {
      result.insert(id);
    }
  }
  return withProducts(tv, std::move(result));
}

}  // namespace

AxisIndex Indexer::producerAxes(const Expr* expr, const TensorView* producer,
                                const TensorView* consumer, const AxisValues& values) const {
  AxisIndex known;
  bool same_axes = true;  // each axis is read at the index that its class has here
  for (auto [p, c] : mapAxes(expr, producer, consumer)) {
    known[p] = p->isBroadcast() ? symbols_.pool().zero() : values.of(c);
    if (known[p] == nullptr) {
      userError("lower: the loops around ", consumer, " do not lead to its axis ", c,
                ": some of them are shared with a tensor that has other axes merged in, others are "
                "its own; inline it further, or not at all");
    }
    same_axes = same_axes && (p->isBroadcast() || values.of(p) == known[p]);
  }
  for (const IterDomain* id : TensorDomain::noReductions(producer->getLogicalDomain())) {
    same_axes = same_axes && (id->isBroadcast() || known.count(id) != 0);
  }
  if (same_axes) {
    // Then so are the axes made of them, and a loop's variable need not be computed back.
    std::set<const IterDomain*> left_out = ambiguousAxes(producer, values);
    std::set<const IterDomain*> repeated = repeatedAxes(producer, values);
    const auto& loop_axes = producer->getLoopDomain();
    for (size_t i = 0; i < loop_axes.size() && !producer->isFusionInput(); ++i) {
      if (holdsOneIndex(producer, static_cast<int>(i))) {
        repeated.erase(loop_axes[i]);
      }
    }
    left_out.merge(repeated);
    for (IterDomain* id : producer->domain()->allIDs()) {
      Scalar index = id->isBroadcast() || left_out.count(id) != 0 ? nullptr : values.of(id);
      if (index != nullptr) {
        known.try_emplace(id, index);
      }
    }
  }
  for (IterDomain* id : producer->getLogicalDomain()) {
    if (id->isBroadcast()) {
      known.try_emplace(id, symbols_.pool().zero());
    }
  }
  return known;
}

Scalar Indexer::taskBase(const Allocation& allocation) const {
  kir::ScalarPool& pool = symbols_.pool();
  if (!allocation.per_task) {
    return pool.zero();
  }
  Scalar task = pool.zero();
  for (ParallelType type : {ParallelType::BIDz, ParallelType::BIDy, ParallelType::BIDx}) {
    if (Scalar extent = loops_.dimension(type)) {
      task = pool.add(pool.mul(task, extent), loops_.parallelIndex(type));
    }
  }
  return pool.mul(task, allocation.stage_elements);
}

Scalar Indexer::stage(const TensorView* tv) const {
  kir::ScalarPool& pool = symbols_.pool();
  const Allocation& allocation = allocations_.of(tv);
  if (allocation.stages == 1) {
    return pool.zero();
  }
  const LoopClass& loop = loops_.of(tv, static_cast<int>(tv->getComputeAtPosition()) - 1);
  return pool.mod(iteration(&loop), pool.constant(allocation.stages));
}

Scalar Indexer::stageBase(const TensorView* tv) const {
  const Allocation& allocation = allocations_.of(tv);
  return allocation.stages == 1 ? symbols_.pool().zero()
                                : symbols_.pool().mul(stage(tv), allocation.stage_elements);
}

void Indexer::shift(const LoopClass* loop, Scalar index) { shifted_[loop] = index; }

Scalar Indexer::iteration(const LoopClass* loop) const {
  auto found = shifted_.find(loop);
  return found != shifted_.end() && found->second != nullptr ? found->second : loop->index;
}

Scalar Indexer::offset(const TensorView* tv, const AxisIndex& known) const {
  kir::ScalarPool& pool = symbols_.pool();
  const Allocation& allocation = allocations_.of(tv);
  Scalar result = pool.add(taskBase(allocation), stageBase(tv));
  if (allocation.buffer->memory == MemoryType::Global && !allocation.per_task) {
    const auto& axes = tv->getMaybeAllocationDomain();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i]->isBroadcast() || axes[i]->isReduction()) {
        continue;
      }
      Scalar index = known.count(axes[i]) != 0 ? known.at(axes[i]) : nullptr;
      check(index != nullptr, "no index leads to an allocation axis");
      result = pool.add(result, pool.mul(index, symbols_.stride(tv, i)));
    }
    return result;
  }
  Scalar stride = pool.one();
  for (auto it = allocation.axes.rbegin(); it != allocation.axes.rend(); ++it) {
    Scalar index = known.count(it->first) != 0 ? known.at(it->first) : nullptr;
    check(index != nullptr, "no index leads to an allocated axis");
    result = pool.add(result, pool.mul(index, stride));
    stride = pool.mul(stride, it->second);
  }
  return result;
}

void Indexer::followTransforms(const TensorView* producer, AxisIndex& known) const {
  // Walk the producer's own transforms from its logical axes to the axes in memory.
  auto get = [&](const IterDomain* id) -> Scalar {
    auto found = known.find(id);
    return found == known.end() ? nullptr : found->second;
  };
  bool changed = true;
  auto set = [&](const IterDomain* id, Scalar index) {
    changed |= known.emplace(id, index).second;
  };
  for (IterDomain* id : producer->domain()->additionalIDs()) {
    set(id, symbols_.pool().zero());
  }
  const std::vector<Expr*> transforms = producer->domain()->allExprs();
  while (changed) {
    changed = false;
    for (const Expr* expr : transforms) {
      propagate(expr, symbols_, get, set);
    }
  }
}

kir::Ref Indexer::read(const TensorView* producer, const TensorView* consumer,
                       AxisIndex known) const {
  followTransforms(producer, known);
  requireComputed(producer, consumer, known);
  return {allocations_.of(producer).buffer, offset(producer, known), 1};
}

void Indexer::noteWriter(const Leaf& leaf) {
  if (leaf.role == LeafRole::Whole || leaf.role == LeafRole::Finish) {
    for (const TensorView* tv : tensorOutputs(leaf.expr)) {
      writer_[tv] = &leaf;
    }
  }
}

bool Indexer::holdsOneIndex(const TensorView* tv, int position) const {
  const LoopClass& loop = loops_.of(tv, position);
  const Allocation& allocation = allocations_.of(tv);
  const MemoryType memory =
      allocation.per_task || loops_.isCpu() ? MemoryType::Local : allocation.buffer->memory;
  if (loop.isThread() && loops_.isUsed(loop.parallel)) {
    // What other threads and blocks wrote is there behind a barrier.
    return memory == MemoryType::Local ||
           (memory == MemoryType::Shared && isParallelTypeBlockDim(loop.parallel));
  }
  return position < static_cast<int>(tv->getComputeAtPosition());
}

void Indexer::requireComputed(const TensorView* producer, const TensorView* consumer,
                              const AxisIndex& known) const {
  auto writer = writer_.find(producer);
  if (writer == writer_.end()) {
    return;
  }
  const auto& axes = producer->getLoopDomain();
  std::optional<AxisValues> values;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int position = static_cast<int>(i);
    auto read = known.find(axes[i]);
    if (axes[i]->isBroadcast() || axes[i]->isReduction() || axes[i]->extent()->isOneInt() ||
        read == known.end() || !holdsOneIndex(producer, position)) {
      continue;
    }
    const LoopClass& loop = loops_.of(producer, position);
    Scalar written = iteration(&loop);
    if (!exact_.mapped(loop.promoted, axes[i])) {
      if (!values) {
        values = around(*writer->second);
      }
      written = values->of(axes[i]);
    }
    if (written == read->second) {
      continue;
    }
    userError("lower: the loops that T", producer->name(), " shares with its consumer T",
              consumer->name(), " compute it at other elements than are read: axis ", i, " (",
              axes[i], ") is at ", written ? written->toString() : "no known index", ", where T",
              consumer->name(), " reads ", read->second->toString(), "\n  note: ", producer,
              "\n  note: ", consumer,
              "\n  help: inline it at a position before that axis, or bind both alike");
  }
}

kir::Ref Indexer::write(const TensorView* tv, const Leaf& leaf, const AxisValues& values,
                        const std::unordered_map<const LoopClass*, Scalar>& replaced) const {
  AxisIndex known;
  const auto& logical = tv->getLogicalDomain();
  const std::set<const IterDomain*> ambiguous = ambiguousAxes(tv, values);
  for (IterDomain* id : tv->domain()->allIDs()) {
    const bool own = std::find(logical.begin(), logical.end(), id) != logical.end();
    Scalar index = own || ambiguous.count(id) == 0 ? values.of(id) : nullptr;
    if (index != nullptr) {
      known[id] = index;
    }
  }
  // On chip the loop variables themselves are the indices.
  for (const LoopClass* loop : leaf.path) {
    for (auto [member, position] : loop->members) {
      if (member != tv) {
        continue;
      }
      auto found = replaced.find(loop);
      const IterDomain* own = tv->getLoopDomain()[static_cast<size_t>(position)];
      if (known.count(own) == 0 || exact_.mapped(own, loop->promoted)) {
        known[own] = found != replaced.end() ? found->second : iteration(loop);
      }
    }
  }
  followTransforms(tv, known);
  return {allocations_.of(tv).buffer, offset(tv, known), 1};
}

Scalar Indexer::logicalElement(const TensorView* tv, const AxisValues& values) const {
  kir::ScalarPool& pool = symbols_.pool();
  Scalar element = pool.zero();
  for (IterDomain* id : tv->getLogicalDomain()) {
    if (id->isReduction()) {
      continue;
    }
    // A broadcast axis has one element, however often a loop goes around it.
    Scalar index = id->isBroadcast() ? pool.zero() : values.of(id);
    element = pool.add(pool.mul(element, symbols_.extent(id)), index);
  }
  return element;
}

}  // namespace nvfuser
