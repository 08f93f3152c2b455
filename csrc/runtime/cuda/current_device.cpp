#include <runtime/cuda/current_device.h>

#include <map>
#include <mutex>

#include <support/error.h>

namespace nvfuser::cuda {

namespace {

/// The primary context, which the device holds for as long as the process runs; asked for once.
Context contextOf(const Driver& driver, int index) {
  static std::mutex mutex;
  static auto* contexts = new std::map<int, Context>;
  const std::lock_guard<std::mutex> lock(mutex);
  Context& context = (*contexts)[index];
  if (context == nullptr) {
    DeviceId id = 0;
    throwIfFailed(driver, driver.DeviceGet(&id, index), "cuDeviceGet");
    throwIfFailed(driver, driver.DevicePrimaryCtxRetain(&context, id), "cuDevicePrimaryCtxRetain");
  }
  return context;
}

}  // namespace

CurrentDevice::CurrentDevice(const Device& device) {
  if (device.kind() != DeviceKind::Cuda) {
    return;
  }
  driver_ = driver();
  check(driver_ != nullptr, "a CUDA device without a driver");
  throwIfFailed(*driver_, driver_->CtxPushCurrent(contextOf(*driver_, device.index())),
                "cuCtxPushCurrent");
  pushed_ = true;
}

CurrentDevice::~CurrentDevice() {
  Context popped = nullptr;
  if (pushed_) {
    driver_->CtxPopCurrent(&popped);
  }
}

}  // namespace nvfuser::cuda
