/// One call of a compiled fusion, from Python's arguments to Python's tensors.
#pragma once

#include <string>
#include <string_view>

#include "torch_calls.h"
#include <nanobind/nanobind.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// Other Python threads run meanwhile. Random operations without seeds of their own follow
/// PyTorch's generator (torch.manual_seed) where PyTorch was imported. `device`: where to run
/// without tensor inputs. `observe`, if given, is told of the call when it is done, without the
/// interpreter's lock. `known`: the executor's.
using ObserveCall = void (*)(FusionExecutorCache& executor, const KernelArgumentHolder& args,
                             const KernelArgumentHolder& outputs, double host_ms);
nb::list execute(FusionExecutorCache& executor, TorchCalls& known, nb::handle inputs,
                 Device* device = nullptr, ObserveCall observe = nullptr);

/// A page of text about the last call: the definition, how it was cut into kernels, each one's
/// scheduler with its parameters, why no scheduler took more, and the kernels' text. Throws
/// `UserError` before the first call.
std::string explainFusion(const FusionExecutorCache& executor, std::string_view definition);

}  // namespace nvfuser::python
