/// What the examples share: run a scheduled fusion on every device of this machine and check it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>

namespace example {

using namespace nvfuser;

struct Input {
  std::vector<int64_t> sizes;
  DataType dtype = DataType::Float;
};

/// The CPU, emulated CUDA, and the first CUDA device if there is one; EXAMPLE_DEVICE=cpu, emulated
/// or cuda leaves one of them.
inline std::vector<Device*> devices() {
  const char* given = std::getenv("EXAMPLE_DEVICE");
  const std::string wanted = given == nullptr ? "" : given;
  std::vector<Device*> all;
  if (wanted.empty() || wanted == "cpu") {
    all.push_back(&cpuDevice());
  }
  if (wanted.empty() || wanted == "emulated") {
    all.push_back(&emulatedDevice());
  }
  Device* gpu = wanted.empty() || wanted == "cuda" ? cudaDevice(0) : nullptr;
  if (gpu != nullptr) {
    all.push_back(gpu);
  }
  return all;
}

/// Defines and schedules with `define`, then compiles once and runs for each set of inputs on each
/// device, compared with the reference interpreter. Returns the number of failures; prints one line
/// for each device.
inline int runEverywhere(const char* name, const std::function<void(Fusion&)>& define,
                         const std::vector<std::vector<Input>>& runs) {
  int failures = 0;
  for (Device* device : devices()) {
    try {
      Fusion fusion;
      {
        FusionGuard guard(&fusion);
        define(fusion);
      }
      KernelExecutor executor;
      for (const std::vector<Input>& inputs : runs) {
        KernelArgumentHolder arguments;
        uint64_t seed = 1;
        for (const Input& in : inputs) {
          arguments.push(Tensor::randn(in.sizes, in.dtype, seed++, *device));
        }
        if (!executor.isCompiled()) {
          executor.compile(&fusion, arguments);
          if (std::getenv("EXAMPLE_PRINT") != nullptr) {
            std::printf("%s\n", executor.compiledKernel()->kernelString().c_str());
          }
        }
        testValidate(&fusion, executor.run(arguments), arguments, __LINE__, __FILE__);
      }
      std::printf("%-28s %-24s ok (%zu sizes)\n", name, device->properties().name.c_str(),
                  runs.size());
    } catch (const std::exception& error) {
      ++failures;
      std::printf("%-28s %-24s FAILED: %s\n", name, device->properties().name.c_str(),
                  error.what());
    }
  }
  return failures;
}

}  // namespace example
