/// One device's share of a Fusion over a mesh.
///
///   MultiDeviceExecutor executor(fusion, communicator);
///   KernelArgumentHolder outputs = executor.run({own part of x, all of w});
#pragma once

#include <memory>

#include <external/communicator.h>
#include <multidevice/local_fusion.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser {

/// Compares what all devices of the mesh are about to run, by a hash of it. Where one has another,
/// each throws a `UserError` that names it.
void requireSameFusion(external::Communicator& communicator, const DeviceMesh& mesh, size_t hash);

class MultiDeviceExecutor {
 public:
  /// The fusion is copied. Throws what `makeLocal` throws, and `UserError` where the device is not
  /// in the mesh or the mesh has a device that there is not.
  MultiDeviceExecutor(const Fusion& fusion, std::shared_ptr<external::Communicator> communicator);

  /// `args`: the inputs, of tensors that are cut the device's own part. Outputs likewise. Every
  /// device of the mesh calls it, as often and with parts of the same sizes. The first call
  /// compares the fusions of all devices.
  KernelArgumentHolder run(KernelArgumentHolder args, Device* device = nullptr,
                           const RunContext& context = {});

  /// What runs here.
  const Fusion& localFusion() const { return *cache_->fusion(); }
  /// A line for each exchange of data, with the operation that wants it.
  const std::vector<std::string>& exchanges() const { return local_.exchanges; }
  /// How inputs have to be cut, and outputs are, those of which nothing was declared too.
  const std::vector<multidevice::Sharding>& inputShardings() const { return local_.inputs; }
  const std::vector<multidevice::Sharding>& outputShardings() const { return local_.outputs; }
  const DeviceMesh& mesh() const { return local_.mesh; }
  FusionExecutorCache& cache() { return *cache_; }
  /// This device's places in the mesh, as they stand behind the inputs.
  std::vector<int64_t> coordinates() const;

 private:
  std::shared_ptr<external::Communicator> communicator_;
  multidevice::LocalFusion local_;
  std::unique_ptr<FusionExecutorCache> cache_;
  size_t hash_;
  bool agreed_ = false;
};

}  // namespace nvfuser
