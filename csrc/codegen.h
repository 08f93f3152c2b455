/// The text of a lowered kernel.
#pragma once

#include <string>

#include <kernel_ir/kernel.h>
#include <runtime/executor_params.h>

namespace nvfuser::codegen {

/// CUDA C++: the snippets that the kernel uses and `extern "C" __global__ void kernel_name(…)`. The
/// kernel has to be lowered for CUDA (`GpuLower` is). The text depends on no launch: `launch` is
/// checked against it (`UserError` for a dimension that the schedule fixes otherwise).
std::string generateCudaKernel(const kir::Kernel* kernel,
                               const std::string& kernel_name = "CUDAGeneratedKernel",
                               const LaunchParams& launch = LaunchParams());

}  // namespace nvfuser::codegen
