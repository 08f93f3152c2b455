/// What tests of hand-made schedules share: each program runs on the CPU, on emulated CUDA and, if
/// there is one, on a GPU, and is compared with the reference.
#pragma once

#include <doctest/doctest.h>

#include <functional>

#include "devices.h"
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>

namespace nvfuser::scheduled {

using Sizes = std::vector<std::vector<int64_t>>;

/// What is done with a compiled kernel and its arguments.
using Use = std::function<void(Fusion&, KernelExecutor&, const KernelArgumentHolder&)>;
using SeesText = std::function<void(const std::string&)>;

/// Runs once and compares with the reference.
inline void runAndValidate(Fusion& fusion, KernelExecutor& executor,
                           const KernelArgumentHolder& arguments) {
  testValidate(&fusion, executor.run(arguments), arguments, __LINE__, __FILE__);
}

/// Defines with `define`, compiles once, and has `use` run it for each list of input sizes; `text`
/// sees the kernel.
inline void checkOn(Device& device, const std::function<void(Fusion&)>& define,
                    const std::vector<Sizes>& runs, DataType dtype = DataType::Float,
                    const SeesText& text = {}, const Use& use = runAndValidate) {
  CAPTURE(device.properties().name);
  Fusion fusion;
  FusionGuard guard(&fusion);
  define(fusion);
  KernelExecutor executor;
  for (const Sizes& sizes : runs) {
    KernelArgumentHolder arguments;
    uint64_t seed = 1;
    for (const std::vector<int64_t>& one : sizes) {
      arguments.push(Tensor::randn(one, dtype, seed++, device));
    }
    if (!executor.isCompiled()) {
      executor.compile(&fusion, arguments);
      if (text) {
        text(executor.compiledKernel()->kernelString());
      }
    }
    use(fusion, executor, arguments);
  }
}

/// On all devices; `text` sees the CUDA kernel.
inline void check(const std::function<void(Fusion&)>& define, const std::vector<Sizes>& runs,
                  DataType dtype = DataType::Float, const SeesText& text = {}) {
  for (Device* device : testDevices()) {
    checkOn(*device, define, runs, dtype, device->kind() == DeviceKind::Cpu ? SeesText() : text);
  }
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline void scheduleLike(TensorView* reference) {
  TransformPropagator propagator(reference);
  MaxLogicalDomainInfoSpanningTree(reference).traverse(&propagator);
  scheduler_utils::parallelizeAllLike(reference);
}

}  // namespace nvfuser::scheduled
