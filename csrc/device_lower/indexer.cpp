#include <device_lower/indexer.h>

#include <algorithm>
#include <optional>
#include <set>

#include <device_lower/follow_transform.h>
#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

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

/// Those axes of `tv` for which something holds, and what is made of them.
template <typename Holds>
std::set<const IterDomain*> axesWhere(const TensorView* tv, const Holds& holds) {
  std::set<const IterDomain*> result;
  for (const IterDomain* id : tv->domain()->allIDs()) {
    if (holds(id)) {
      result.insert(id);
    }
  }
  return withProducts(tv, std::move(result));
}

/// Axes of `tv` of which the loops' values cannot be taken: their class has two indices here, or
/// that of an axis that they are made of has. (An axis of 16 is reshaped to 2 x 8 and met by its
/// own reshape: the part of 8 is one index as a column, another as a part of the row.)
std::set<const IterDomain*> ambiguousAxes(const TensorView* tv, const AxisValues& values) {
  return axesWhere(tv, [&](const IterDomain* id) { return values.isAmbiguous(id); });
}

/// Axes of `tv` that the loops of two tensors lead to, at two indices: what is made of them has
/// that of either.
std::set<const IterDomain*> axesMetTwice(const TensorView* tv, const AxisValues& values) {
  return axesWhere(tv, [&](const IterDomain* id) { return values.isMetTwice(id); });
}

/// Axes of `tv` with a part of a broadcast axis in them that the loops go through: split by 16, its
/// one element is computed 16 times, but perhaps stored at the first place alone.
std::set<const IterDomain*> repeatedAxes(const TensorView* tv, const AxisValues& values) {
  return axesWhere(tv, [&](const IterDomain* id) {
    Scalar index = id->isBroadcast() ? values.of(id) : nullptr;
    return index != nullptr && !index->isConstant(0);
  });
}

/// Of `repeated` axes, those that loops in `shared` are a part of, and the other parts of these: of
/// b·i0 split into a shared loop n and an own one k, the element that is read is computed at this
/// n alone, at whichever index of b, so at the k of now.
std::set<const IterDomain*> partlyShared(const TensorView* tv,
                                         const std::set<const IterDomain*>& repeated,
                                         std::vector<const IterDomain*> shared) {
  std::set<const IterDomain*> whole;
  while (!shared.empty()) {
    const IterDomain* id = shared.back();
    shared.pop_back();
    if (id->isBroadcast() || repeated.count(id) == 0 || !whole.insert(id).second ||
        id->definition() == nullptr) {
      continue;
    }
    for (const Val* in : id->definition()->inputs()) {
      shared.push_back(in->as<IterDomain>());
    }
  }
  return withProducts(tv, std::move(whole));
}

}  // namespace

AxisIndex Indexer::producerAxes(const Expr* expr, const TensorView* producer,
                                const TensorView* consumer, const AxisValues& values) const {
  AxisIndex known;
  bool same_axes = true;  // each axis is read at the index that its class has here
  for (auto [p, c] : mapAxes(expr, producer, consumer)) {
    // A broadcast axis has one element, however often a loop goes around it.
    known[p] = p->isBroadcast() || c->isBroadcast() ? symbols_.pool().zero() : values.of(c);
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
    std::vector<const IterDomain*> shared;  // loops
    const auto& loop_axes = producer->getLoopDomain();
    for (size_t i = 0; i < loop_axes.size() && !producer->isFusionInput(); ++i) {
      if (holdsOneIndex(producer, static_cast<int>(i))) {
        shared.push_back(loop_axes[i]);
      }
    }
    std::set<const IterDomain*> not_shared = repeatedAxes(producer, values);
    if (storesRepeats(producer)) {
      for (const IterDomain* id : partlyShared(producer, not_shared, shared)) {
        not_shared.erase(id);
      }
    }
    not_shared.merge(axesMetTwice(producer, values));
    for (const IterDomain* id : shared) {
      not_shared.erase(id);
    }
    left_out.merge(not_shared);
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
  const auto indexOf = [&](const IterDomain* id) {
    auto found = known.find(id);
    if (found == known.end() || found->second == nullptr) {
      userError("lower: the loops around ", tv, " do not lead to ", id,
                ", an axis that it has in memory: some of them are shared with a tensor that has "
                "other axes merged in, others are its own; inline it, and what it reads, further, "
                "or not at all");
    }
    return found->second;
  };
  Scalar result = pool.add(taskBase(allocation), stageBase(tv));
  if (allocation.buffer->memory == MemoryType::Global && !allocation.per_task) {
    const auto& axes = tv->getMaybeAllocationDomain();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i]->isBroadcast() || axes[i]->isReduction()) {
        continue;
      }
      result = pool.add(result, pool.mul(indexOf(axes[i]), symbols_.stride(tv, i)));
    }
    return result;
  }
  Scalar stride = pool.one();
  for (auto it = allocation.axes.rbegin(); it != allocation.axes.rend(); ++it) {
    result = pool.add(result, pool.mul(indexOf(it->first), stride));
    stride = pool.mul(stride, it->second);
  }
  return result;
}

void Indexer::followTransforms(const TensorView* producer, AxisIndex& known) const {
  // Walk the producer's own transforms from its logical axes to the axes in memory.
  const IndexOf get = [&](const IterDomain* id) -> Scalar {
    auto found = known.find(id);
    return found == known.end() ? nullptr : found->second;
  };
  bool changed = true;
  const SetIndex set = [&](const IterDomain* id, Scalar index) {
    changed |= known.emplace(id, index).second;
  };
  for (IterDomain* id : producer->domain()->additionalIDs()) {
    set(id, symbols_.pool().zero());
  }
  const std::vector<Expr*> transforms = producer->domain()->allExprs();
  while (changed) {
    changed = false;
    for (const Expr* expr : transforms) {
      followTransform(expr, symbols_, get, set);
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
  if (completes(leaf.role)) {
    for (const TensorView* tv : tensorOutputs(leaf.expr)) {
      writer_[tv] = &leaf;
    }
  }
}

MemoryType Indexer::placedIn(const TensorView* tv) const {
  const Allocation& allocation = allocations_.of(tv);
  return allocation.per_task || loops_.isCpu() ? MemoryType::Local : allocation.buffer->memory;
}

bool Indexer::storesRepeats(const TensorView* tv) const {
  const MemoryType memory = placedIn(tv);
  const auto writer = writer_.find(tv);
  if (memory != MemoryType::Shared || writer == writer_.end()) {
    return memory == MemoryType::Local;
  }
  const Leaf& leaf = *writer->second;
  return leaf.role == LeafRole::Whole &&
         std::none_of(leaf.path.begin(), leaf.path.end(), [&](const LoopClass* loop) {
           return isParallelTypeThreadDim(loop->parallel) && loops_.isSpread(tv, loop->parallel);
         });
}

bool Indexer::holdsOneIndex(const TensorView* tv, int position) const {
  const LoopClass& loop = loops_.of(tv, position);
  const MemoryType memory = placedIn(tv);
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

void Indexer::requireRoom(const TensorView* tv, const AxisIndex& known) const {
  if (allocations_.of(tv).buffer->memory != MemoryType::Shared) {
    return;
  }
  const auto& axes = tv->getLoopDomain();
  for (int64_t i = 0; i < static_cast<int64_t>(axes.size()); ++i) {
    const IterDomain* axis = axes[static_cast<size_t>(i)];
    const ParallelType bound = loops_.of(tv, static_cast<int>(i)).parallel;
    const bool in_block = isParallelTypeBlockDim(bound);  // each block has its own part
    const auto found = known.find(axis);
    if (isParallelTypeThreadDim(bound) || (!in_block && i >= tv->getComputeAtPosition()) ||
        found == known.end() || axis->isBroadcast()) {
      continue;
    }
    for (ParallelType type : kParallelTypeTIDs) {
      if (loops_.isUsed(type) &&
          kir::ScalarPool::contains(found->second, loops_.parallelIndex(type))) {
        userError("lower: ", tv, " is kept in shared memory for one ",
                  in_block ? "block" : "iteration", " of its axis ", i,
                  " at a time, but in the loop that it shares threads of ", parallelTypeName(type),
                  " are at different ones: ", found->second->toString(),
                  "\n  help: inline it at position ", i, ", or set its memory type to Local");
      }
    }
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
  // On chip the loop variables themselves are the indices, where a loop runs over the axis itself.
  for (const LoopClass* loop : leaf.path) {
    for (auto [member, position] : loop->members) {
      if (member != tv) {
        continue;
      }
      auto found = replaced.find(loop);
      const IterDomain* own = tv->getLoopDomain()[static_cast<size_t>(position)];
      if (exact_.mapped(own, loop->promoted)) {
        known[own] = found != replaced.end() ? found->second : iteration(loop);
      }
    }
  }
  followTransforms(tv, known);
  requireRoom(tv, known);
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
