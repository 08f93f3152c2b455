/// Repeated calls on tensors of PyTorch: the shortest way from Python's list of inputs to its list
/// of outputs, which are PyTorch's own.
#pragma once

#include "torch_known_call.h"
#include <nanobind/nanobind.h>
#include <runtime/fusion_executor_cache.h>
#include <support/recently_used.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// Calls of one executor, which has to outlive this.
class TorchCalls {
 public:
  /// The outputs' list, where the inputs are plain tensors of PyTorch and numbers, the fusion draws
  /// no random numbers, and its kernel has run before; else an invalid object, and nothing was
  /// done.
  nb::object repeat(FusionExecutorCache& executor, nb::handle inputs);

 private:
  RecentlyUsed<TorchKnownCall, 16> known_;  ///< under the environment's options
};

}  // namespace nvfuser::python
