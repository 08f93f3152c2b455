#include <capi/fusion_handle.h>

#include <capi/arguments.h>
#include <support/error.h>

namespace nvfuser::capi {

void pointerIsNull(std::string_view what) { throw ArgumentError(text(what, " must not be null")); }

void requireDefining(nvf_fusion* fusion) {
  requirePointer(fusion, "the fusion");
  if (fusion->executor != nullptr) {
    throw ArgumentError("the fusion was executed and can no longer be changed; make a new one");
  }
}

FusionExecutorCache& executorOf(nvf_fusion& fusion) {
  if (FusionExecutorCache* made = fusion.made.load(std::memory_order_acquire)) {
    return *made;
  }
  std::lock_guard<std::mutex> lock(fusion.mutex);
  if (fusion.executor == nullptr) {
    if (fusion.graph.outputs().empty()) {
      userError("execute: the fusion has no outputs");
    }
    // A copy, so that a definition that cannot be executed can be mended.
    fusion.executor = std::make_unique<FusionExecutorCache>(std::make_unique<Fusion>(fusion.graph));
    fusion.made.store(fusion.executor.get(), std::memory_order_release);
  }
  return *fusion.executor;
}

}  // namespace nvfuser::capi
