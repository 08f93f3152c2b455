#include <device_lower/indexer.h>

#include <algorithm>

#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

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
  if (const auto refusal = reads_.axes(expr, producer, consumer, places, known)) {
    refuseSchedule(*refusal);
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

bool Indexer::isAtAnotherTurn() const {
  return std::any_of(shifted_.begin(), shifted_.end(),
                     [](const auto& entry) { return entry.second != nullptr; });
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

kir::Ref Indexer::read(const TensorView* producer, const TensorView* consumer, const Places& places,
                       AxisIndex known) const {
  reads_.followTransforms(producer, known);
  if (const auto writer = writer_.find(producer); writer != writer_.end()) {
    const WriterAt at{producer, [&] { return around(*writer->second); },
                      [&](const LoopClass* loop) { return iteration(loop); }};
    // Indices that are equal may not be proven so; loops that were made alike need no proof, as
    // long as none of them is at another turn here.
    if (const auto refusal = reads_.elementsApart(at, consumer, places, known);
        refusal && (isAtAnotherTurn() || consumer->definition() == nullptr ||
                    !reads_.areAlike(consumer->definition(), producer, consumer))) {
      refuseSchedule(*refusal);
    }
  }
  return {allocations_.of(producer).buffer, offset(producer, known), 1};
}

void Indexer::noteWriter(const Leaf& leaf) {
  if (completes(leaf.role)) {
    for (const TensorView* tv : tensorOutputs(leaf.expr)) {
      writer_[tv] = &leaf;
    }
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
  reads_.followTransforms(tv, known);
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
