#include <runtime/device_kernels.h>

#include <mutex>

#include <ops/table/pointwise.h>

namespace nvfuser {

const DeviceKernels& deviceKernels(Device& device, const std::string& name,
                                   const std::vector<std::string>& entries,
                                   std::string (*text)(const std::string& name)) {
  static std::mutex mutex;
  static auto* all = new std::map<std::pair<Device*, std::string>, DeviceKernels>;
  const std::lock_guard lock(mutex);
  DeviceKernels& kernels = (*all)[{&device, name}];
  if (kernels.empty()) {
    KernelSource source;
    source.text = text(name);
    source.entry = entries.front();
    auto compiled = device.compileEntries(source, entries);
    for (size_t i = 0; i < entries.size(); ++i) {
      kernels[entries[i]] = std::move(compiled[i]);
    }
  }
  return kernels;
}

std::optional<std::string> deviceTypeOf(DataType dtype) {
  const bool is_number = isFloatingPointType(dtype) || isComplexType(dtype) ||
                         (isIntegralType(dtype) && dtype != DataType::Index);
  return is_number ? std::optional(std::string(typeText(dtype))) : std::nullopt;
}

}  // namespace nvfuser
