/// Fusions run without a schedule, on the CPU and on emulated CUDA, each result compared with the
/// reference; a kernel that is refused, or cannot be made, is a failure.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devices.h"
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>
#include <support/options.h>

namespace nvfuser::automatic {

using Define = std::function<void(Fusion&)>;

struct Input {
  std::vector<int64_t> sizes;
  DataType dtype = DataType::Float;
  std::vector<int64_t> strides = {};  ///< none: row-major
};

/// A dense input of any sizes.
inline TensorView* input(Fusion& fusion, int64_t rank, DataType dtype) {
  TensorView* tv = makeContigTensor(rank, dtype);
  fusion.addInput(tv);
  return tv;
}

/// What is computed with: Float where the dtype is a reduced one.
inline TensorView* wide(TensorView* tv) {
  return isReducedPrecisionFloat(tv->dtype()) ? castOp(DataType::Float, tv) : tv;
}

inline void output(Fusion& fusion, TensorView* tv, DataType dtype) {
  fusion.addOutput(tv->dtype() == dtype ? tv : castOp(dtype, tv));
}

inline KernelArgumentHolder makeInputs(const std::vector<Input>& inputs, Device& device) {
  KernelArgumentHolder arguments;
  uint64_t seed = 1;
  for (const Input& input : inputs) {
    const Tensor drawn = Tensor::randn(input.sizes, input.dtype, seed++, device);
    if (input.strides.empty()) {
      arguments.push(drawn);
      continue;
    }
    Tensor strided = Tensor::emptyStrided(input.sizes, input.strides, input.dtype, device);
    strided.copyFrom(drawn);
    arguments.push(strided);
  }
  return arguments;
}

/// A fusion's cache on one device.
class Program {
 public:
  Program(const Define& define, Device& device)
      : options_(Options::current().disable("fallback")), device_(device) {
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    define(*fusion);
    cache_ = std::make_unique<FusionExecutorCache>(std::move(fusion));
  }

  FusionExecutorCache& cache() { return *cache_; }
  Device& device() { return device_; }

  void run(const std::vector<Input>& inputs) { run(makeInputs(inputs, device_)); }
  void run(const KernelArgumentHolder& arguments) {
    const KernelArgumentHolder results = cache_->runFusionWithInputs(arguments);
    const std::string report = cache_->report();
    CAPTURE(report);
    CHECK(cache_->executors().size() == cache_->numKernels());  // none is interpreted
    testValidate(cache_->fusion(), results, arguments, __LINE__, __FILE__);
  }

  /// Of the last run: number of kernels, and the schedulers' names.
  size_t kernels() const { return cache_->numKernels(); }
  bool scheduledBy(std::string_view scheduler) const {
    return cache_->report().find("scheduler " + std::string(scheduler)) != std::string::npos;
  }

 private:
  OptionsGuard options_;
  Device& device_;
  std::unique_ptr<FusionExecutorCache> cache_;
};

/// Runs all input sets on both devices; each call must be `kernels` kernels (0: any number; on the
/// CPU `kernels_on_cpu`) of which one is scheduled by `scheduler`.
inline void check(const Define& define, const std::vector<std::vector<Input>>& runs,
                  std::string_view scheduler, size_t kernels, size_t kernels_on_cpu) {
  for (Device* device : testDevices()) {
    const size_t wanted = device->kind() == DeviceKind::Cpu ? kernels_on_cpu : kernels;
    CAPTURE(device->properties().name);
    Program program(define, *device);
    for (const std::vector<Input>& inputs : runs) {
      std::string sizes;
      for (const Input& input : inputs) {
        sizes += text("[", join(input.sizes, ", "), "] ", input.dtype, " ");
      }
      CAPTURE(sizes);
      try {
        program.run(inputs);
      } catch (const std::exception& error) {
        FAIL_CHECK(text(sizes, "on ", device->properties().name, ": ", error.what(), "\n",
                        program.cache().report()));
        continue;
      }
      const std::string report = program.cache().report();
      CAPTURE(report);
      if (wanted != 0) {
        CHECK(program.kernels() == wanted);
      }
      if (!scheduler.empty()) {
        CHECK(program.scheduledBy(scheduler));
      }
    }
  }
}

inline void check(const Define& define, const std::vector<std::vector<Input>>& runs,
                  std::string_view scheduler = "", size_t kernels = 1) {
  check(define, runs, scheduler, kernels, kernels);
}

}  // namespace nvfuser::automatic
