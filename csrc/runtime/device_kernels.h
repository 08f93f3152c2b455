/// Kernels of the device's library (runtime/ at the top) that the runtime launches by itself: each
/// text is compiled once for a device, by the first call that needs it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <runtime/device.h>
#include <runtime/run_context.h>

namespace nvfuser {

using DeviceKernels = std::map<std::string, std::shared_ptr<const LoadedKernel>>;

/// The kernels `entries` of what `text` gives, which is the same for equal names. Another call of
/// that name waits.
const DeviceKernels& deviceKernels(Device& device, const std::string& name,
                                   const std::vector<std::string>& entries,
                                   std::string (*text)(const std::string& name));

/// What a dtype is called in a kernel's text; nothing where it has no name there.
std::optional<std::string> deviceTypeOf(DataType dtype);

/// Puts a kernel on the context's stream.
template <typename... Args>
void launchKernel(Device& device, const LoadedKernel& kernel, LaunchShape shape,
                  const RunContext& context, const Args&... args) {
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&args))...};
  device.launch(kernel, shape, addresses, context.stream, nullptr);
}

}  // namespace nvfuser
