/// Where a tensor is kept, and which threads take part in its reduction.
#include <algorithm>

#include <scheduler/schedule_error.h>

namespace nvfuser {

void TensorView::setMemoryType(MemoryType type) {
  if ((isFusionInput() || isFusionOutput()) && type != MemoryType::Global) {
    scheduleError(
        "setMemoryType", this,
        text("T", name(), " is an ", isFusionInput() ? "input" : "output",
             " of the Fusion and stays in Global memory; ", memoryTypeName(type), " was asked for"),
        isFusionInput() ? "make a copy with cacheAfter() and place that"
                        : "make a copy with cacheBefore() and place that");
  }
  fields_.memory_type = type;
}

bool TensorView::hasBlockReduction() const {
  return std::any_of(getLoopDomain().begin(), getLoopDomain().end(),
                     [](const IterDomain* id) { return id->isReduction() && id->isThreadDim(); });
}

bool TensorView::hasGridReduction() const {
  return std::any_of(getLoopDomain().begin(), getLoopDomain().end(),
                     [](const IterDomain* id) { return id->isReduction() && id->isBlockDim(); });
}

}  // namespace nvfuser
