/// Profiles of calls, while a program asks for them.
#pragma once

#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/fusion_profile.h>

namespace nvfuser::python {

struct CallProfile {
  int64_t fusion_id = 0;
  nvfuser::FusionProfile measured;
  double host_ms = 0;  ///< of the call that was profiled, compiling included
  int64_t input_bytes = 0;
  int64_t output_bytes = 0;

  double kernelMs() const;
  double compileMs() const;
  double gigabytesPerSecond() const;
};

/// Whether calls are to be recorded; from any thread.
bool isProfiling();
/// Measures the kernels of a call that took `host_ms`.
void recordCall(FusionExecutorCache& executor, const KernelArgumentHolder& args,
                const KernelArgumentHolder& outputs, double host_ms);
/// The same of a kernel that was scheduled by hand.
void recordKernel(KernelExecutor& executor, const KernelArgumentHolder& args,
                  const KernelArgumentHolder& outputs, double host_ms);

}  // namespace nvfuser::python
