/// What a scheduler may know of a whole fusion in one call.
#pragma once

#include <ir/fusion.h>
#include <runtime/executor_kernel_arg.h>
#include <scheduler/runtime_info.h>

namespace nvfuser {

/// For kernels on the arguments' device (on `defaultDevice()` without tensors). Throws `UserError`
/// for arguments that do not fit the fusion. The information refers to `fusion`.
SchedulerRuntimeInfo runtimeInfoOf(const Fusion& fusion, const KernelArgumentHolder& args);

}  // namespace nvfuser
