/// nvfuser_direct's executors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "direct/fusion.h"
#include "torch_calls.h"
#include <runtime/fusion_executor_cache.h>
#include <support/options.h>

namespace nvfuser::python {

/// Runs a fusion with schedules of the library's. It works on a copy of the definition.
struct ExecutorCache {
  ExecutorCache(const IrFusion& definition, int64_t fusion_id, bool auto_schedule);
  /// The outputs, tensors of the inputs' framework.
  nb::list execute(nb::handle inputs, Device* device = nullptr);

  IrFusion fusion;
  std::unique_ptr<FusionExecutorCache> executor;
  TorchCalls known;
};

/// The environment's options with those that a call enables and disables besides; none if there are
/// no others. Names of nvFuser's options that nothing here depends on are accepted; others throw
/// `UserError`.
std::optional<Options> optionsOf(const std::vector<std::string>& enable,
                                 const std::vector<std::string>& disable);

}  // namespace nvfuser::python
