/// Repeated calls on tensors of PyTorch: the shortest way from inputs to outputs, which are
/// PyTorch's own.
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

  /// The same for inputs that were read, without Python: whether it is done. `take(call)` is then
  /// given the call to take the outputs from. The lock may be given to others meanwhile.
  template <typename Take>
  bool repeat(FusionExecutorCache& executor, std::span<const TorchValue> inputs,
              std::span<const StrideOfOne> ones, InterpreterLock& lock, const Take& take) {
    const Torch* torch = torchFor(executor);
    const auto use = [&](TorchKnownCall& call) {
      if (!call.run(inputs, ones, lock)) {
        return false;
      }
      take(call);
      return true;
    };
    if (torch == nullptr || known_.useOne(use)) {
      return torch != nullptr;
    }
    std::unique_ptr<TorchKnownCall> call = TorchKnownCall::make(executor, *torch, inputs);
    if (call == nullptr || !use(*call)) {
      return false;
    }
    known_.keep(std::move(call));
    return true;
  }

 private:
  /// Null where no call of the executor can be repeated now.
  static const Torch* torchFor(FusionExecutorCache& executor);

  RecentlyUsed<TorchKnownCall, 16> known_;  ///< under the environment's options
};

}  // namespace nvfuser::python
