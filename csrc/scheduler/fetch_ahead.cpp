#include <scheduler/fetch_ahead.h>

#include <scheduler/analysis/reference_axes.h>

namespace nvfuser {

bool worthFetchingAhead(const Fusion& fusion, SchedulerRuntimeInfo& info) {
  if (!info.isHost()) {
    return false;
  }
  int64_t bytes = 0;
  for (const TensorView* tv : borderTensors(fusion)) {
    bytes += info.bytes(tv);
  }
  return 2 * bytes > info.device().l2_bytes;
}

}  // namespace nvfuser
