#include <device_lower/read_beyond.h>

#include <algorithm>

namespace nvfuser {

namespace {

/// The loop of a tensor that is bound to the dimension, if the tensor has one element along it and
/// other tensors of the loop have more; null otherwise.
const LoopClass* loopOfOthers(const TensorView* tv, ParallelType type, const LoopModel& loops) {
  const std::vector<const LoopClass*> path = loops.path(tv);
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i]->parallel == type) {
      const bool is_one = tv->getLoopDomain()[i]->isBroadcast();
      return is_one && !path[i]->promoted->isBroadcast() ? path[i] : nullptr;
    }
  }
  return nullptr;
}

bool isInside(const TensorView* tv, const LoopClass* loop, const LoopModel& loops) {
  const std::vector<const LoopClass*> path = loops.path(tv);
  return std::find(path.begin(), path.end(), loop) != path.end();
}

/// `tv`, and what it is computed from in the same loop.
void add(const TensorView* tv, ParallelType type, const LoopClass* loop, const LoopModel& loops,
         ReadBeyond& found) {
  if (!found[tv].insert(type).second) {
    return;
  }
  for (const TensorView* in : tensorInputs(tv->definition())) {
    if (in->definition() != nullptr && eachHasOwn(in, type) &&
        loopOfOthers(in, type, loops) == loop) {
      add(in, type, loop, loops, found);
    }
  }
  for (const TensorView* sibling : siblingsOf(tv)) {
    add(sibling, type, loop, loops, found);
  }
}

}  // namespace

bool eachHasOwn(const TensorView* tv, ParallelType type) {
  return !tv->isFusionOutput() &&
         (tv->getMemoryType() == MemoryType::Local ||
          (tv->getMemoryType() == MemoryType::Shared && isParallelTypeBlockDim(type)));
}

ReadBeyond readBeyond(const Fusion& fusion, const LoopModel& loops) {
  ReadBeyond found;
  for (TensorView* tv : computedTensors(fusion)) {
    for (ParallelType type : kParallelTypeThreads) {
      const LoopClass* loop =
          loops.isUsed(type) && eachHasOwn(tv, type) ? loopOfOthers(tv, type, loops) : nullptr;
      if (loop == nullptr) {
        continue;
      }
      const std::vector<TensorView*> consumers = consumersOf(tv);
      if (std::any_of(consumers.begin(), consumers.end(), [&](const TensorView* consumer) {
            return !isInside(consumer, loop, loops);
          })) {
        add(tv, type, loop, loops, found);
      }
    }
  }
  return found;
}

bool looksAtOthers(const Expr* expr, ParallelType type, const LoopModel& loops) {
  const std::vector<TensorView*> operands = tensorInputs(expr);
  return std::any_of(operands.begin(), operands.end(), [&](const TensorView* tv) {
    return tv->definition() != nullptr && !eachHasOwn(tv, type) && loops.isSpread(tv, type);
  });
}

}  // namespace nvfuser
