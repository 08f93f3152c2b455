/// Makes a GPU's context current for as long as the object lives, as libraries need it; nothing for
/// other devices.
#pragma once

#include <runtime/cuda/driver.h>
#include <runtime/device.h>

namespace nvfuser::cuda {

class CurrentDevice {
 public:
  explicit CurrentDevice(const Device& device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  const Driver* driver_ = nullptr;
  bool pushed_ = false;
};

}  // namespace nvfuser::cuda
