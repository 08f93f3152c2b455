/// A CUDA device through its driver and NVRTC (`cudaDevice()` of `runtime/device.h`).
///
/// Beyond `Device`: compiled code as bytes; occupancy, for schedulers.
#pragma once

#include <string_view>

#include <runtime/cuda/nvrtc.h>
#include <runtime/device.h>

namespace nvfuser {

/// "sm_90" of a device with these properties. With `specific` "sm_90a": code for exactly this
/// architecture.
std::string cudaArchitecture(const DeviceProperties& properties, bool specific = false);

/// NVRTC's words for `source`.
std::vector<std::string> cudaCompilerOptions(const KernelSource& source, const std::string& arch);

/// What the cubin of `source` depends on besides its text, as text: NVRTC's version and options.
std::string cudaBinaryKey(const KernelSource& source, const std::string& arch);

/// NVRTC on a kernel's text, past the disk cache; needs no device.
cuda::CompiledCubin compileCudaSource(const KernelSource& source, const std::string& arch);

/// A kernel from a cubin that was made for this device. `ptx` is kept for `assembly("ptx")`; may be
/// empty.
std::unique_ptr<LoadedKernel> loadCudaBinary(Device& device, const KernelSource& source,
                                             std::string_view cubin, std::string ptx);

/// Blocks of `threads` threads with `shared_bytes` of dynamic shared memory that one multiprocessor
/// holds at a time.
int cudaBlocksPerMultiprocessor(Device& device, const LoadedKernel& kernel, int threads,
                                int64_t shared_bytes);

}  // namespace nvfuser
