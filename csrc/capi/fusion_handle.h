/// What a handle of the C interface stands for, and the checks that its functions share.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <capi/nvfuser_c.h>
#include <ir/fusion.h>
#include <runtime/fusion_executor_cache.h>

/// A fusion while it is defined, and then its executor.
struct nvf_fusion {
  nvfuser::Fusion graph;
  std::vector<nvfuser::Val*> values;                       ///< by id
  std::vector<std::string> statements;                     ///< the definition as Python text
  std::unique_ptr<nvfuser::FusionExecutorCache> executor;  ///< from the first execution on
  std::mutex mutex;                                        ///< of the making of the executor
};

namespace nvfuser::capi {

/// Throws an `ArgumentError` that names `what` if it is null.
void requirePointer(const void* pointer, std::string_view what);
/// Also that it may still be defined.
void requireDefining(nvf_fusion* fusion);
/// The value with this id; an `ArgumentError` if there is none.
Val* valueOf(const nvf_fusion& fusion, int64_t id);
/// The executor, made at the first call, which ends the definition.
FusionExecutorCache& executorOf(nvf_fusion& fusion);

}  // namespace nvfuser::capi
