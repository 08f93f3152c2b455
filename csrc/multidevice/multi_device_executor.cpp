#include <multidevice/multi_device_executor.h>

#include <algorithm>

namespace nvfuser {

void requireSameFusion(external::Communicator& communicator, const DeviceMesh& mesh, size_t hash) {
  if (mesh.size() == 1) {
    return;
  }
  const std::vector<int64_t>& devices = mesh.devices();
  const std::vector<int64_t> all = communicator.numbersOfAll(
      devices, static_cast<int64_t>(hash), "the comparison of the devices' fusions");
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i] != all[0]) {
      userError("MultiDeviceExecutor: devices ", devices[0], " and ", devices[i],
                " have unlike fusions; all devices of ", mesh.toString(),
                " define and share the same one");
    }
  }
}

MultiDeviceExecutor::MultiDeviceExecutor(const Fusion& fusion,
                                         std::shared_ptr<external::Communicator> communicator)
    : communicator_(std::move(communicator)), local_(multidevice::makeLocal(fusion)) {
  if (communicator_ == nullptr) {
    userError("MultiDeviceExecutor: there is no communicator");
  }
  if (!local_.mesh.has(communicator_->rank())) {
    userError("MultiDeviceExecutor: device ", communicator_->rank(), " is not in ",
              local_.mesh.toString(), ", on which the fusion runs; run it on the mesh's devices");
  }
  const std::vector<int64_t>& devices = local_.mesh.devices();
  const int64_t last = *std::max_element(devices.begin(), devices.end());
  if (last >= communicator_->size()) {
    userError("MultiDeviceExecutor: ", local_.mesh.toString(), " has device ", last,
              ", but there are ", communicator_->size(), " devices");
  }
  hash_ = local_.fusion->hash();
  cache_ = std::make_unique<FusionExecutorCache>(std::move(local_.fusion));
  cache_->setCommunicator(communicator_);
}

std::vector<int64_t> MultiDeviceExecutor::coordinates() const {
  std::vector<int64_t> places;
  for (const ParallelType axis : local_.coordinates) {
    places.push_back(*local_.mesh.coordinate(communicator_->rank(), axis));
  }
  return places;
}

KernelArgumentHolder MultiDeviceExecutor::run(KernelArgumentHolder args, Device* device,
                                              const RunContext& context) {
  if (!agreed_) {
    requireSameFusion(*communicator_, local_.mesh, hash_);
    agreed_ = true;
  }
  for (const int64_t place : coordinates()) {
    args.push(PolymorphicValue(place));
  }
  return cache_->runFusionWithInputs(args, {}, device, context);
}

}  // namespace nvfuser
