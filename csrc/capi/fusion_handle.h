/// What a handle of the C interface stands for, and the checks that its functions share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include <capi/definition.h>
#include <capi/nvfuser_c.h>
#include <runtime/fusion_executor_cache.h>
#include <support/options.h>

/// A fusion while it is defined, and then its executor.
struct nvf_fusion : nvfuser::capi::Definition {
  std::unique_ptr<nvfuser::FusionExecutorCache> executor;     ///< from the first execution on
  std::mutex mutex;                                           ///< of the making of the executor
  std::atomic<nvfuser::FusionExecutorCache*> made = nullptr;  ///< the executor, without the lock
  std::optional<nvfuser::Options> options;  ///< of its executions; none: those of the caller
};

namespace nvfuser::capi {

[[noreturn]] void pointerIsNull(std::string_view what);
/// Throws an `ArgumentError` that names `what` if it is null.
inline void requirePointer(const void* pointer, std::string_view what) {
  if (pointer == nullptr) {
    pointerIsNull(what);
  }
}
/// Also that it may still be defined.
void requireDefining(nvf_fusion* fusion);
/// The executor, made at the first call, which ends the definition.
FusionExecutorCache& executorOf(nvf_fusion& fusion);

}  // namespace nvfuser::capi
