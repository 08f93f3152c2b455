/// The devices that numerics run on: the CPU, emulated CUDA, and the first GPU if there is one.
/// NVFUSER_TEST_DEVICE=gpu leaves the GPU alone, which then must be there.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <runtime/device.h>
#include <support/error.h>

namespace nvfuser {

/// Whether only the GPU is wanted.
inline bool testsOnlyGpu() {
  const char* given = std::getenv("NVFUSER_TEST_DEVICE");
  if (given == nullptr) {
    return false;
  }
  if (std::string_view(given) != "gpu") {
    throw UserError("NVFUSER_TEST_DEVICE is " + std::string(given) + "; known: gpu");
  }
  return true;
}

inline Device& neededGpu() {
  std::string why;
  Device* gpu = cudaDevice(0, &why);
  if (gpu == nullptr) {
    throw UserError("NVFUSER_TEST_DEVICE is gpu, but there is none: " + why);
  }
  return *gpu;
}

inline std::vector<Device*> testDevices() {
  if (testsOnlyGpu()) {
    return {&neededGpu()};
  }
  std::vector<Device*> all{&cpuDevice(), &emulatedDevice()};
  if (Device* gpu = cudaDevice(0)) {
    all.push_back(gpu);
  }
  return all;
}

}  // namespace nvfuser
