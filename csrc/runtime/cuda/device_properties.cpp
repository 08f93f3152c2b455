#include <runtime/cuda/device_properties.h>

namespace nvfuser::cuda {

DeviceProperties readProperties(const Driver& driver, cuda::DeviceId id) {
  auto attribute = [&](DeviceAttribute which, int offset = 0) {
    int value = 0;
    auto shifted = static_cast<DeviceAttribute>(static_cast<int>(which) + offset);
    throwIfFailed(driver, driver.DeviceGetAttribute(&value, shifted, id), "cuDeviceGetAttribute");
    return value;
  };
  DeviceProperties properties;
  char name[256] = "";
  throwIfFailed(driver, driver.DeviceGetName(name, sizeof name, id), "cuDeviceGetName");
  properties.name = name;
  properties.major = attribute(DeviceAttribute::ComputeCapabilityMajor);
  properties.minor = attribute(DeviceAttribute::ComputeCapabilityMinor);
  properties.multiprocessors = attribute(DeviceAttribute::MultiprocessorCount);
  properties.warp_size = attribute(DeviceAttribute::WarpSize);
  properties.max_threads_per_block = attribute(DeviceAttribute::MaxThreadsPerBlock);
  properties.max_threads_per_multiprocessor =
      attribute(DeviceAttribute::MaxThreadsPerMultiprocessor);
  for (int axis = 0; axis < 3; axis++) {
    properties.max_block[axis] = attribute(DeviceAttribute::MaxBlockDimX, axis);
    properties.max_grid[axis] = attribute(DeviceAttribute::MaxGridDimX, axis);
  }
  properties.shared_bytes_per_block = attribute(DeviceAttribute::MaxSharedMemoryPerBlock);
  properties.shared_bytes_per_block_optin =
      attribute(DeviceAttribute::MaxSharedMemoryPerBlockOptin);
  properties.shared_bytes_per_multiprocessor =
      attribute(DeviceAttribute::MaxSharedMemoryPerMultiprocessor);
  properties.registers_per_multiprocessor =
      attribute(DeviceAttribute::MaxRegistersPerMultiprocessor);
  properties.l2_bytes = attribute(DeviceAttribute::L2CacheSize);
  size_t memory = 0;
  throwIfFailed(driver, driver.DeviceTotalMem(&memory, id), "cuDeviceTotalMem");
  properties.memory_bytes = static_cast<int64_t>(memory);
  return properties;
}

}  // namespace nvfuser::cuda
