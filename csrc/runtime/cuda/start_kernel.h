/// A launch in the driver's words: the plain one, the cooperative one, or, for clusters and for
/// kernels that begin beside the one before, the one with attributes.
#pragma once

#include <span>

#include <runtime/cuda/cuda_kernel.h>
#include <runtime/cuda/driver.h>
#include <runtime/device.h>

namespace nvfuser::cuda {

/// In the current context; the shape has been checked. A `UserError` where the driver is too old.
void startKernel(const Driver& driver, const CudaKernel& kernel, const LaunchShape& shape,
                 std::span<void* const> args, StreamHandle stream);

}  // namespace nvfuser::cuda
