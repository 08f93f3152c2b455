#include <runtime/device_kernels.h>

#include <mutex>

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
  switch (dtype.type) {
    case PrimDataType::Char:
      return "i8";
    case PrimDataType::Byte:
      return "u8";
    case PrimDataType::Short:
      return "i16";
    case PrimDataType::UInt16:
      return "u16";
    case PrimDataType::Int32:
      return "i32";
    case PrimDataType::UInt32:
      return "u32";
    case PrimDataType::Int:
      return "i64";
    case PrimDataType::UInt64:
      return "u64";
    case PrimDataType::Half:
      return "half_t";
    case PrimDataType::BFloat16:
      return "bf16_t";
    case PrimDataType::Float8_e4m3fn:
      return "fp8_e4m3_t";
    case PrimDataType::Float8_e5m2:
      return "fp8_e5m2_t";
    case PrimDataType::Float:
      return "float";
    case PrimDataType::Double:
      return "double";
    case PrimDataType::ComplexFloat:
      return "complex<float>";
    case PrimDataType::ComplexDouble:
      return "complex<double>";
    default:
      return std::nullopt;
  }
}

}  // namespace nvfuser
