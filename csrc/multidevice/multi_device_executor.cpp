#include <multidevice/multi_device_executor.h>

#include <algorithm>

#include <runtime/cuda/current_device.h>
#include <runtime/dense_copy.h>

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

/// The first device says the sizes.
std::vector<int64_t> sizesOfFirst(external::Communicator& communicator,
                                  const multidevice::Handover& what, std::span<const int64_t> team,
                                  const Tensor* tensor) {
  std::vector<int64_t> sizes;
  for (size_t axis = 0; axis < what.axes; ++axis) {
    const int64_t own = tensor != nullptr ? tensor->size(static_cast<int64_t>(axis)) : 0;
    sizes.push_back(communicator.numbersOfAll(team, own, what.what).front());
  }
  return sizes;
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

Tensor handOver(external::Communicator& communicator, const multidevice::Handover& what,
                std::span<const int64_t> team, const Tensor* tensor, Device& device,
                const RunContext& context) {
  const std::vector<int64_t> sizes = sizesOfFirst(communicator, what, team, tensor);
  // Where the transport takes no memory of the device, by way of the host.
  const bool by_host = !communicator.takes(device.kind());
  Device& memory = by_host ? cpuDevice() : device;
  Tensor given, result;
  if (tensor != nullptr) {
    given = by_host ? Tensor::fromHostTensor(tensor->toHostTensor(context.stream))
                    : denseOnDevice(*tensor, context);
  } else {
    result = by_host
                 ? Tensor::empty(sizes, what.dtype)
                 : Tensor::emptyStrided(sizes, rowMajorStrides(sizes), what.dtype, memory, context);
  }
  const Tensor& shape = tensor != nullptr ? given : result;
  const external::ExchangedTensor sent{what.dtype, shape.numel(),
                                       tensor != nullptr ? given.data() : nullptr,
                                       tensor != nullptr ? nullptr : result.data()};
  const cuda::CurrentDevice current(memory);
  communicator.exchange({std::nullopt,
                         BinaryOpType::Add,
                         team,
                         {&sent, 1},
                         what.what,
                         memory.kind(),
                         by_host ? nullptr : context.stream});
  if (tensor != nullptr) {
    return *tensor;
  }
  return by_host ? result.copyTo(device) : result;
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
  return **std::find_if(caches_.begin(), caches_.end(),
                        [](const auto& cache) { return cache != nullptr; });
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
  if (caches_.size() == 1) {
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
      for (const std::vector<int64_t>& team : handover.teams) {
        if (std::find(team.begin(), team.end(), communicator_->rank()) == team.end()) {
          continue;
        }
        const bool is_first = team.front() == communicator_->rank();
        slots[handover.to] = handOver(*communicator_, handover, team,
                                      is_first ? &slots[handover.from].tensor() : nullptr,
                                      deviceOf(args, device), context);
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
