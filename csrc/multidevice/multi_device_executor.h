/// One device's share of a Fusion over a mesh, or over several (stages.h).
///
///   MultiDeviceExecutor executor(fusion, communicator);
///   KernelArgumentHolder outputs = executor.run({own part of x, all of w});
#pragma once

#include <memory>

#include <external/communicator.h>
#include <multidevice/stages.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser {

/// Compares what all devices are about to run, by a hash of it. Where one has another, each throws
/// a `UserError` that names it.
void requireSameFusion(external::Communicator& communicator, const std::vector<int64_t>& devices,
                       size_t hash);

class MultiDeviceExecutor {
 public:
  /// The fusion is copied. Throws what `makeStages` throws, and `UserError` where the device is in
  /// no mesh or a mesh has a device that there is not.
  MultiDeviceExecutor(const Fusion& fusion, std::shared_ptr<external::Communicator> communicator);

  /// `args`: the inputs, of tensors that are cut the device's own part; of tensors on meshes that
  /// the device is not in, anything. Outputs likewise, those of other meshes without a value. Every
  /// device of the meshes calls it, as often and with parts of the same sizes. The first call
  /// compares the fusions of all devices.
  KernelArgumentHolder run(KernelArgumentHolder args, Device* device = nullptr,
                           const RunContext& context = {});

  /// What runs here; of several stages the first.
  const Fusion& localFusion() const { return *cache().fusion(); }
  /// A line for each exchange of data, with the operation that wants it, and each handover.
  std::vector<std::string> exchanges() const;
  /// How inputs have to be cut, and outputs are, those of which nothing was declared too, and on
  /// which mesh.
  const std::vector<multidevice::Stages::Place>& inputPlaces() const { return stages_.of_inputs; }
  const std::vector<multidevice::Stages::Place>& outputPlaces() const { return stages_.of_outputs; }
  FusionExecutorCache& cache() const;

 private:
  std::vector<int64_t> coordinatesIn(const multidevice::LocalFusion& local) const;

  std::shared_ptr<external::Communicator> communicator_;
  multidevice::Stages stages_;
  std::vector<std::unique_ptr<FusionExecutorCache>> caches_;  ///< null: not here
  size_t hash_ = 0;
  bool agreed_ = false;
};

}  // namespace nvfuser
