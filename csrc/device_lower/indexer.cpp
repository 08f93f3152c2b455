#include <device_lower/indexer.h>

#include <algorithm>
#include <set>

#include <ir/axis_map.h>
#include <iteration_space/follow_transform.h>

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

/// Axes of `tv` with a part of a broadcast axis in them that the loops go through: split by 16, its
/// one element is computed 16 times, but perhaps stored at the first place alone.
std::set<const IterDomain*> repeatedAxes(const TensorView* tv, const Places& places) {
  std::set<const IterDomain*> result;
  for (const IterDomain* id : tv->domain()->allIDs()) {
    if (id->isBroadcast() && places.isGoneThrough(id)) {
      result.insert(id);
    }
  }
  return withProducts(tv, std::move(result));
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

Places Indexer::around(const Leaf& leaf,
                       const std::unordered_map<const LoopClass*, Scalar>& replaced) const {
  std::vector<LoopAt> loops;
  for (const LoopClass* loop : leaf.path) {
    const auto found = replaced.find(loop);
    loops.push_back(
        {loop, loop->promoted, found != replaced.end() ? found->second : iteration(loop)});
  }
  const std::vector<TensorView*> outputs = tensorOutputs(leaf.expr);
  return {{outputs.begin(), outputs.end()}, std::move(loops), exact_, symbols_};
}

AxisIndex Indexer::producerAxes(const Expr* expr, const TensorView* producer,
                                const TensorView* consumer, const Places& places) const {
  AxisIndex known;
  for (auto [p, c] : mapAxes(expr, producer, consumer)) {
    // A broadcast axis has one element, however often a loop goes around it.
    known[p] = p->isBroadcast() || c->isBroadcast() ? symbols_.pool().zero() : places.index(c);
    if (known[p] == nullptr) {
      userError("lower: the loops around ", consumer, " do not lead to its axis ", c,
                ": some of them are shared with a tensor that has other axes merged in, others are "
                "its own; inline it further, or not at all");
    }
  }
  for (IterDomain* id : producer->getLogicalDomain()) {
    if (id->isBroadcast()) {
      known.try_emplace(id, symbols_.pool().zero());
    }
  }
  followLoops(producer, places, known);
  return known;
}

void Indexer::followLoops(const TensorView* producer, const Places& places,
                          AxisIndex& known) const {
  std::vector<const IterDomain*> shared;  // loops
  const auto& loop_axes = producer->getLoopDomain();
  for (size_t i = 0; i < loop_axes.size() && !producer->isFusionInput(); ++i) {
    if (holdsOneIndex(producer, static_cast<int>(i))) {
      shared.push_back(loop_axes[i]);
    }
  }
  std::set<const IterDomain*> at_first = repeatedAxes(producer, places);
  if (storesRepeats(producer)) {
    for (const IterDomain* id : partlyShared(producer, at_first, shared)) {
      at_first.erase(id);
    }
  }
  for (const IterDomain* id : shared) {
    at_first.erase(id);
  }
  for (const Expr* expr : producer->domain()->allExprs()) {
    AxisIndex tried;
    for (const Val* out : expr->outputs()) {
      const auto* id = out->as<IterDomain>();
      const bool may_be_tried =
          known.count(id) == 0 && !id->isBroadcast() && at_first.count(id) == 0;
      if (Scalar index = may_be_tried ? places.indexOfClass(id) : nullptr) {
        tried[id] = index;
      }
    }
    const auto get = [&](const IterDomain* id) -> Scalar {
      const auto found = tried.find(id);
      return found != tried.end() ? found->second : nullptr;
    };
    bool leads_back = !tried.empty();
    followTransform(expr, symbols_, get, [&](const IterDomain* id, Scalar index) {
      const auto read = known.find(id);
      leads_back &= id->isBroadcast() || (read != known.end() && read->second == index);
    });
    if (leads_back && tried.size() == expr->outputs().size()) {
      known.merge(tried);
    }
    followTransform(
        expr, symbols_,
        [&](const IterDomain* id) -> Scalar {
          const auto& ins = expr->inputs();
          const auto found = known.find(id);
          return found != known.end() && std::find(ins.begin(), ins.end(), id) != ins.end()
                     ? found->second
                     : nullptr;
        },
        [&](const IterDomain* id, Scalar index) { known.emplace(id, index); });
  }
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

kir::Ref Indexer::read(const TensorView* producer, const TensorView* consumer, const Places& places,
                       AxisIndex known) const {
  followTransforms(producer, known);
  requireComputed(producer, consumer, places, known);
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
                              const Places& places, const AxisIndex& known) const {
  auto writer = writer_.find(producer);
  if (writer == writer_.end()) {
    return;
  }
  std::vector<int> held;
  for (int position = 0; position < static_cast<int>(producer->nDims()); ++position) {
    if (holdsOneIndex(producer, position)) {
      held.push_back(position);
    }
  }
  const WriterAt at{producer, [&] { return around(*writer->second); },
                    [&](const LoopClass* loop) { return iteration(loop); }};
  const auto apart = elementsApart(at, held, consumer, places, known, loops_, exact_);
  if (apart) {
    userError("lower: the loops that T", producer->name(), " shares with its consumer T",
              consumer->name(), " compute it at other elements than are read: axis ",
              apart->position, " (", producer->axis(apart->position), ") is at ",
              apart->written ? apart->written->toString() : "no known index", ", where T",
              consumer->name(), " reads ", apart->read->toString(), "\n  note: ", producer,
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

AxisIndex Indexer::indicesOf(const TensorView* tv, const Places& places) const {
  AxisIndex known;
  for (const IterDomain* id : tv->domain()->allIDs()) {
    if (Scalar index = places.index(id)) {
      known[id] = index;
    }
  }
  return known;
}

std::vector<Indexer::MemoryAxis> Indexer::memoryAxes(const TensorView* tv, AxisIndex known) const {
  followTransforms(tv, known);
  std::vector<MemoryAxis> axes;
  const std::vector<IterDomain*>& in_memory = tv->getMaybeAllocationDomain();
  for (size_t i = 0; i < in_memory.size(); ++i) {
    const IterDomain* id = in_memory[i];
    if (!id->isBroadcast() && !id->isReduction()) {
      axes.push_back({known.at(id), symbols_.extent(id), symbols_.stride(tv, i)});
    }
  }
  return axes;
}

kir::Ref Indexer::write(const TensorView* tv, const Places& places) const {
  const AxisIndex known = indicesOf(tv, places);
  requireRoom(tv, known);
  return {allocations_.of(tv).buffer, offset(tv, known), 1};
}

Scalar Indexer::logicalElement(const TensorView* tv, const Places& places) const {
  kir::ScalarPool& pool = symbols_.pool();
  Scalar element = pool.zero();
  for (IterDomain* id : tv->getLogicalDomain()) {
    if (id->isReduction()) {
      continue;
    }
    // A broadcast axis has one element, however often a loop goes around it.
    Scalar index = id->isBroadcast() ? pool.zero() : places.index(id);
    element = pool.add(pool.mul(element, symbols_.extent(id)), index);
  }
  return element;
}

}  // namespace nvfuser
