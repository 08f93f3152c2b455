/// A cubin loaded on one device, and the checks of its launches. Internal to `runtime/cuda/`.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include <runtime/cuda/driver.h>
#include <runtime/device.h>

namespace nvfuser {

class CudaKernel final : public LoadedKernel {
 public:
  /// Loads into the context that is current. `context` is that one: the module is unloaded under
  /// it.
  CudaKernel(const cuda::Driver& driver, cuda::Context context, std::string name, std::string cubin,
             std::string ptx);
  ~CudaKernel() override;
  CudaKernel(const CudaKernel&) = delete;
  CudaKernel& operator=(const CudaKernel&) = delete;

  const KernelResources& resources() const override { return resources_; }
  /// "ptx", "cubin" (bytes) or "sass". SASS comes from nvdisasm or cuobjdump on PATH; without
  /// either it is empty.
  std::string assembly(const std::string& kind) const override;

  const std::string& name() const { return name_; }
  cuda::Function function() const { return function_; }
  cuda::Context context() const { return context_; }
  int maxThreadsPerBlock() const { return max_threads_; }

  /// Before a launch with so much dynamic shared memory: beyond 48 KB a kernel has to opt in, once
  /// for the largest amount. Call with the context current.
  void allowSharedBytes(int64_t bytes) const;
  /// Before a launch in clusters of more than 8 blocks, once.
  void allowLargeClusters() const;

  KernelResources resources_;

 private:
  const cuda::Driver& driver_;
  cuda::Context context_;
  std::string name_;
  std::string cubin_;
  std::string ptx_;
  cuda::Module module_ = nullptr;
  cuda::Function function_ = nullptr;
  int max_threads_ = 0;
  mutable std::mutex opt_in_;
  mutable std::atomic<int64_t> allowed_shared_bytes_;
  mutable std::atomic<bool> large_clusters_{false};
};

/// `UserError`, naming limit and value, for a launch that the device or the kernel cannot take;
/// false for an empty grid, which launches nothing.
bool checkLaunch(const CudaKernel& kernel, const DeviceProperties& properties,
                 const LaunchShape& shape);

}  // namespace nvfuser
