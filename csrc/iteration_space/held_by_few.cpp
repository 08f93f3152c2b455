#include <iteration_space/held_by_few.h>

#include <algorithm>

namespace nvfuser {

namespace {

/// Whether each thread (block) of the dimension has the tensor for itself.
bool eachHasOwn(const TensorView* tv, ParallelType type) {
  return !tv->isFusionOutput() &&
         (tv->getMemoryType() == MemoryType::Local ||
          (tv->getMemoryType() == MemoryType::Shared && isParallelTypeBlockDim(type)));
}

}  // namespace

HeldByFew heldByFew(const Fusion& fusion, const LoopModel& loops) {
  HeldByFew held;
  for (const TensorView* tv : computedTensors(fusion)) {
    for (ParallelType type : kParallelTypeThreads) {
      // (What is not spread is written by index 0 alone, and all wait for that.)
      const std::vector<TensorView*> operands = tensorInputs(tv->definition());
      if (std::any_of(operands.begin(), operands.end(), [&](const TensorView* in) {
            return in->definition() != nullptr &&
                   (eachHasOwn(in, type) ? isHeldByFew(in, type, held) : loops.isSpread(in, type));
          })) {
        held[tv].insert(type);
      }
    }
  }
  return held;
}

bool isHeldByFew(const TensorView* tv, ParallelType type, const HeldByFew& held) {
  const auto found = held.find(tv);
  return found != held.end() && found->second.count(type) != 0;
}

}  // namespace nvfuser
