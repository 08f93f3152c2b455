#include <scheduler/analysis/elements_of_accesses.h>

#include <algorithm>

namespace nvfuser {

namespace {

constexpr int64_t kMostElements = 16;
constexpr int64_t kMostReads = 2;  ///< that a thread makes side by side

}  // namespace

int64_t elementsOfAccesses(const std::vector<TensorView*>& tensors, SchedulerRuntimeInfo& info) {
  int64_t most = 0;
  for (const TensorView* tv : tensors) {
    most = std::max(most, info.bytes(tv));
  }
  int64_t elements = kMostElements;
  for (const TensorView* tv : tensors) {
    if (info.bytes(tv) >= most / 4) {
      const int64_t accesses = tv->isFusionOutput() ? 1 : kMostReads;
      elements =
          std::min(elements, accesses * kMaxVectorBytes / SchedulerRuntimeInfo::elementBytes(tv));
    }
  }
  return std::max<int64_t>(elements, 1);
}

}  // namespace nvfuser
