#include <multidevice/multi_device_executor.h>

#include <algorithm>

#include <multidevice/run_handover.h>

namespace nvfuser {

namespace {

/// The device of a call, where it is not given.
Device& deviceOf(const KernelArgumentHolder& args, Device* wanted) {
  if (wanted != nullptr) {
    return *wanted;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].isTensor() && args[i].tensor().numel() > 0) {
      return args[i].tensor().device();
    }
  }
  return cpuDevice();
}

}  // namespace

void requireSameFusion(external::Communicator& communicator, const std::vector<int64_t>& devices,
                       size_t hash) {
  if (devices.size() == 1) {
    return;
  }
  const std::vector<int64_t> all = communicator.numbersOfAll(
      devices, static_cast<int64_t>(hash), "the comparison of the devices' fusions");
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i] != all[0]) {
      userError("MultiDeviceExecutor: devices ", devices[0], " and ", devices[i],
                " have unlike fusions; all devices (", join(devices, ", "),
                ") define and share the same one");
    }
  }
}

MultiDeviceExecutor::MultiDeviceExecutor(const Fusion& fusion,
                                         std::shared_ptr<external::Communicator> communicator)
    : communicator_(std::move(communicator)), stages_(multidevice::makeStages(fusion)) {
  if (communicator_ == nullptr) {
    userError("MultiDeviceExecutor: there is no communicator");
  }
  const std::vector<int64_t> devices = stages_.devices();
  const std::string meshes =
      join(stages_.stages, " and ", [](const auto& stage) { return stage.local.mesh.toString(); });
  if (std::find(devices.begin(), devices.end(), communicator_->rank()) == devices.end()) {
    userError("MultiDeviceExecutor: device ", communicator_->rank(), " is not in ", meshes,
              ", on which the fusion runs; run it on the mesh's devices");
  }
  if (devices.back() >= communicator_->size()) {
    userError("MultiDeviceExecutor: ", meshes, " has device ", devices.back(), ", but there are ",
              communicator_->size(), " devices");
  }
  for (multidevice::Stage& stage : stages_.stages) {
    hash_ = hash_ * 31 + stage.local.fusion->hash();
    const bool is_here = stage.local.mesh.has(communicator_->rank());
    caches_.push_back(is_here ? std::make_unique<FusionExecutorCache>(std::move(stage.local.fusion))
                              : nullptr);
    if (is_here) {
      caches_.back()->setCommunicator(communicator_);
    }
  }
}

FusionExecutorCache& MultiDeviceExecutor::cache() const {
  const auto found = std::find_if(caches_.begin(), caches_.end(),
                                  [](const auto& cache) { return cache != nullptr; });
  check(found != caches_.end(), "a device that only hands tensors over runs nothing");
  return **found;
}

std::vector<std::string> MultiDeviceExecutor::exchanges() const {
  std::vector<std::string> lines;
  for (const multidevice::Stage& stage : stages_.stages) {
    for (const multidevice::Handover& handover : stage.handovers) {
      lines.push_back(handover.what);
    }
    lines.insert(lines.end(), stage.local.exchanges.begin(), stage.local.exchanges.end());
  }
  return lines;
}

std::vector<int64_t> MultiDeviceExecutor::coordinatesIn(
    const multidevice::LocalFusion& local) const {
  std::vector<int64_t> places;
  for (const ParallelType axis : local.coordinates) {
    places.push_back(*local.mesh.coordinate(communicator_->rank(), axis));
  }
  return places;
}

KernelArgumentHolder MultiDeviceExecutor::run(KernelArgumentHolder args, Device* device,
                                              const RunContext& context) {
  if (!agreed_) {
    requireSameFusion(*communicator_, stages_.devices(), hash_);
    agreed_ = true;
  }
  if (caches_.size() == 1 && stages_.stages[0].handovers.empty()) {
    for (const int64_t place : coordinatesIn(stages_.stages[0].local)) {
      args.push(PolymorphicValue(place));
    }
    return caches_[0]->runFusionWithInputs(args, {}, device, context);
  }
  if (args.size() != stages_.of_inputs.size()) {
    userError("MultiDeviceExecutor: the fusion has ", stages_.of_inputs.size(), " inputs, but ",
              args.size(), " were given; pass anything for those of other meshes");
  }
  std::vector<KernelArgument> slots(stages_.slots);
  for (size_t i = 0; i < args.size(); ++i) {
    slots[i] = args[i];
  }
  for (size_t s = 0; s < caches_.size(); ++s) {
    const multidevice::Stage& stage = stages_.stages[s];
    for (const multidevice::Handover& handover : stage.handovers) {
      const bool has_it = handover.given.mesh.has(communicator_->rank());
      if (const std::optional<Tensor> part =
              handOver(*communicator_, handover, has_it ? &slots[handover.from].tensor() : nullptr,
                       deviceOf(args, device), context)) {
        slots[handover.to] = *part;
      }
    }
    if (caches_[s] == nullptr) {
      continue;
    }
    KernelArgumentHolder own;
    for (const size_t slot : stage.inputs) {
      own.push(slots[slot]);
    }
    for (const int64_t place : coordinatesIn(stage.local)) {
      own.push(PolymorphicValue(place));
    }
    const KernelArgumentHolder results = caches_[s]->runFusionWithInputs(own, {}, device, context);
    for (size_t i = 0; i < results.size(); ++i) {
      slots[stage.outputs.at(i)] = results[i];
    }
  }
  KernelArgumentHolder outputs;
  for (size_t i = 0; i < stages_.outputs.size(); ++i) {
    const DeviceMesh& mesh = stages_.of_outputs[i].mesh;
    const bool is_here = mesh.empty() || mesh.has(communicator_->rank());
    outputs.push(is_here ? slots[stages_.outputs[i]] : KernelArgument());
  }
  return outputs;
}

}  // namespace nvfuser
