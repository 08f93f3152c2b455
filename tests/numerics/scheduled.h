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

/// Defines with `define`, runs for each list of input sizes on both devices; `text` sees the CUDA
/// kernel.
inline void check(const std::function<void(Fusion&)>& define, const std::vector<Sizes>& runs,
                  DataType dtype = DataType::Float,
                  const std::function<void(const std::string&)>& text = {}) {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Fusion fusion;
    FusionGuard guard(&fusion);
    define(fusion);
    KernelExecutor executor;
    for (const Sizes& sizes : runs) {
      KernelArgumentHolder arguments;
      uint64_t seed = 1;
      for (const std::vector<int64_t>& one : sizes) {
        arguments.push(Tensor::randn(one, dtype, seed++, *device));
      }
      if (!executor.isCompiled()) {
        executor.compile(&fusion, arguments);
        if (text && device->kind() != DeviceKind::Cpu) {
          text(executor.compiledKernel()->kernelString());
        }
      }
      testValidate(&fusion, executor.run(arguments), arguments, __LINE__, __FILE__);
    }
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
