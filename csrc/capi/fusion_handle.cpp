#include <capi/fusion_handle.h>

#include <capi/arguments.h>
#include <support/error.h>

namespace nvfuser::capi {

void requirePointer(const void* pointer, std::string_view what) {
  if (pointer == nullptr) {
    throw ArgumentError(text(what, " must not be null"));
  }
}

void requireDefining(nvf_fusion* fusion) {
  requirePointer(fusion, "the fusion");
  if (fusion->executor != nullptr) {
    throw ArgumentError("the fusion was executed and can no longer be changed; make a new one");
  }
}

FusionExecutorCache& executorOf(nvf_fusion& fusion) {
  std::lock_guard<std::mutex> lock(fusion.mutex);
  if (fusion.executor == nullptr) {
    if (fusion.graph.outputs().empty()) {
      userError("execute: the fusion has no outputs");
    }
    // A copy, so that a definition that cannot be executed can be mended.
    fusion.executor = std::make_unique<FusionExecutorCache>(std::make_unique<Fusion>(fusion.graph));
  }
  return *fusion.executor;
}

}  // namespace nvfuser::capi
