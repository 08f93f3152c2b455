/// Repeated calls on tensors of PyTorch: the shortest way from Python's list of inputs to its list
/// of outputs, which are PyTorch's own.
#pragma once

#include <nanobind/nanobind.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// The outputs' list, where the inputs are plain tensors of PyTorch and numbers, the fusion draws
/// no random numbers, and its kernel has run before; else an invalid object, and nothing was done.
nb::object repeatTorchCall(FusionExecutorCache& executor, nb::handle inputs);

}  // namespace nvfuser::python
