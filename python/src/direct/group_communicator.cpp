#include "direct/group_communicator.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "interpreter_lock.h"
#include "torch_arrays.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <runtime/tensor.h>

namespace nvfuser::python {

namespace {

using external::Exchange;
using external::ExchangedTensor;

/// An exchange but for its tensors.
struct Way {
  std::optional<CommunicationType> type;
  BinaryOpType reduction;
  int64_t shift;
  int gpu;  ///< −1: the host
  std::vector<int64_t> team;

  bool isOf(const Exchange& x, int of_gpu) const {
    return type == x.type && reduction == x.reduction && shift == x.shift && gpu == of_gpu &&
           std::equal(team.begin(), team.end(), x.team.begin(), x.team.end());
  }
};

nb::list listOf(std::span<const int64_t> team) {
  nb::list devices;
  for (const int64_t device : team) {
    devices.append(device);
  }
  return devices;
}

nb::object gpuOf(int gpu) { return gpu < 0 ? nb::none() : nb::cast(gpu); }

/// How many parts of the exchanged size an operand and a result have.
std::pair<int64_t, int64_t> partsOf(const Exchange& x) {
  using enum CommunicationType;
  const auto devices = static_cast<int64_t>(x.team.size());
  return {x.type == ReduceScatter || x.type == Alltoall ? devices : 1,
          x.type == Allgather || x.type == Alltoall ? devices : 1};
}

bool combines(const Exchange& x) {
  return x.type == CommunicationType::Allreduce || x.type == CommunicationType::ReduceScatter;
}

class GroupCommunicator final : public external::Communicator {
 public:
  GroupCommunicator(nb::object transport, int64_t rank, int64_t size, bool on_gpus)
      : transport_(std::move(transport)), rank_(rank), size_(size), on_gpus_(on_gpus) {}
  ~GroupCommunicator() override {
    const LockHeld held;
    prepared_.clear();
    transport_.reset();
  }
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  std::string_view name() const override { return "torch.distributed"; }
  bool takes(DeviceKind memory) const override {
    return memory == (on_gpus_ ? DeviceKind::Cuda : DeviceKind::Cpu);
  }

  void exchange(const Exchange& x) override {
    const LockHeld held;
    const Torch* torch = importedTorch();
    check(torch != nullptr, "who hands a transport over has imported PyTorch");
    const int gpu = x.memory == DeviceKind::Cuda ? x.gpu : -1;
    Device& device = gpu < 0 ? cpuDevice() : *cudaDevice(gpu);
    const auto [parts_given, parts_got] = partsOf(x);
    nb::list given, results;
    for (const ExchangedTensor& tensor : x.tensors) {
      if (tensor.elements == 0) {
        continue;
      }
      const int64_t bytes = combines(x) ? 1 : dataTypeSizeByte(tensor.dtype);
      const DataType dtype = combines(x) ? tensor.dtype : DataType(PrimDataType::Byte);
      const auto at = [&](const void* data, int64_t parts) -> nb::object {
        return data == nullptr ? nb::none()
                               : lent(*torch, const_cast<void*>(data),
                                      tensor.elements * parts * bytes, dtype, device);
      };
      given.append(at(tensor.in, parts_given));
      results.append(tensor.in == tensor.out ? nb::object(given[nb::len(given) - 1])
                                             : at(tensor.out, parts_got));
    }
    const nb::handle call = prepared(x, gpu);
    if (gpu < 0 || currentStream(*torch, gpu) == x.stream) {
      call(given, results);
    } else {
      transport_.attr("beside")(call, given, results, reinterpret_cast<uintptr_t>(x.stream), gpu);
    }
  }

  std::vector<int64_t> numbersOfAll(std::span<const int64_t> team, int64_t own,
                                    std::string_view) override {
    const LockHeld held;
    return nb::cast<std::vector<int64_t>>(transport_.attr("numbers_of_all")(listOf(team), own));
  }
  void barrier() override {
    const LockHeld held;
    transport_.attr("barrier")();
  }

 private:
  /// Memory of a call as a tensor of PyTorch of one axis.
  static nb::object lent(const Torch& torch, void* data, int64_t elements, DataType dtype,
                         Device& device) {
    const int64_t sizes[] = {elements};
    const int64_t strides[] = {1};
    if (torch.shim != nullptr && torch.shim->knows(dtype)) {
      return torch.shim->toObject(torch.shim->lend(data, {dtype, sizes, strides}, device));
    }
    return makeTorch(torch, Tensor::fromRef({data, dtype, {elements}, {1}}, device));
  }

  /// With the interpreter's lock held.
  nb::handle prepared(const Exchange& x, int gpu) {
    for (const auto& [way, call] : prepared_) {
      if (way.isOf(x, gpu)) {
        return call;
      }
    }
    nb::object call =
        transport_.attr("prepare")(std::string(x.name()), std::string(opName(x.reduction)),
                                   listOf(x.team), x.shift, gpuOf(gpu));
    prepared_.emplace_back(Way{x.type, x.reduction, x.shift, gpu, {x.team.begin(), x.team.end()}},
                           std::move(call));
    return prepared_.back().second;
  }

  nb::object transport_;
  /// Few: teams are rows of meshes. (A transport may run another thread while it prepares, so
  /// elements stay where they are.)
  std::deque<std::pair<Way, nb::object>> prepared_;
  int64_t rank_, size_;
  bool on_gpus_;
};

}  // namespace

std::shared_ptr<external::Communicator> groupCommunicator(nb::object transport, int64_t rank,
                                                          int64_t size, bool on_gpus) {
  return std::make_shared<GroupCommunicator>(std::move(transport), rank, size, on_gpus);
}

}  // namespace nvfuser::python
