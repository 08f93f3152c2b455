/// What one call of a fusion costs, kernel by kernel: `FusionExecutorCache::profile`.
///
///   AMD EPYC: 1 step, a call 9.3529 ms
///   kernel 1: (T0) -> (T8)
///     scheduler inner persistent: inner on the host, …
///     grid (8, 1, 1), block (1, 1, 1), 0 bytes of shared memory, compiled in 293.2 ms
///     67108864 bytes in 8.9736 ms, 7.5 GB/s, 0.424 of a copy's speed
///     not reduction: T0 is needed both before and behind a reduction
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <runtime/device.h>

namespace nvfuser {

struct KernelProfile {
  std::string name;                   ///< "kernel 1", "external call 1, matmul", "views"
  std::string tensors;                ///< "(T0) -> (T10)"
  std::string scheduler;              ///< with its parameters; empty for what is no kernel
  std::vector<std::string> refusals;  ///< schedulers asked before, and why they declined
  LaunchShape shape;
  KernelResources resources;
  int64_t bytes = 0;   ///< each tensor read once, each written once
  double ms = 0;       ///< median of the launches; 0: not a kernel, or not launched for these sizes
  double copy_ms = 0;  ///< of a copy that moves as many bytes
  int64_t devices = 1;  ///< more: an exchange, and `bytes` are what each of them receives

  double gigabytesPerSecond() const { return ms > 0 ? static_cast<double>(bytes) / ms / 1e6 : 0; }
  double ofCopy() const { return ms > 0 ? copy_ms / ms : 0; }
  /// "grid (8, 1, 1), block (1, 1, 1), 0 bytes of shared memory, compiled in 293.2 ms"
  std::string launchText() const;
  std::string toString() const;
};

struct FusionProfile {
  std::string device;
  std::vector<KernelProfile> kernels;  ///< in the order in which they run
  double call_ms = 0;  ///< of a whole call, host and device, results waited for; mean of several

  std::string toString() const;
};

}  // namespace nvfuser
