#include <external/communication.h>

#include <cstring>
#include <vector>

#include <evaluator/strided_loop.h>

namespace nvfuser::external {

namespace {

using Strides = std::vector<int64_t>;

void copyElements(const TensorRef& like, const void* from, const Strides& from_strides, void* to,
                  const Strides& to_strides) {
  const int64_t bytes = dataTypeSizeByte(like.dtype);
  forEachRun<2>(like.sizes, {from_strides, to_strides}, {0, 0},
                [&](int64_t length, const auto& starts, const auto& steps) {
                  for (int64_t i = 0; i < length; ++i) {
                    std::memcpy(
                        static_cast<std::byte*>(to) + (starts[1] + i * steps[1]) * bytes,
                        static_cast<const std::byte*>(from) + (starts[0] + i * steps[0]) * bytes,
                        static_cast<size_t>(bytes));
                  }
                });
}

/// Memory for the elements of a tensor that has gaps or another order, on the host.
void* denseFor(const TensorRef& tensor, const Machine& machine, std::vector<std::byte>& memory) {
  check(machine.kind == DeviceKind::Cpu, "tensors of a device are dense in an exchange");
  memory.resize(static_cast<size_t>(tensor.numel() * dataTypeSizeByte(tensor.dtype)));
  return memory.data();
}

}  // namespace

bool isDense(const TensorRef& tensor) {
  const Strides dense = rowMajorStrides(tensor.sizes);
  for (size_t i = 0; i < dense.size(); ++i) {
    if (tensor.sizes[i] != 1 && tensor.strides[i] != dense[i]) {
      return false;
    }
  }
  return true;
}

void runCommunication(const Call& call) {
  const auto* op = call.op->as<CommunicationOp>();
  Communicator* communicator = call.machine->communicator;
  if (communicator == nullptr) {
    userError(op->getOpString(), ": ", *op,
              " needs other devices, and this call has no communicator; run the fusion by a "
              "MultiDeviceExecutor");
  }
  const DeviceMesh mesh = op->mesh();
  if (!mesh.has(communicator->rank())) {
    userError(op->getOpString(), ": device ", communicator->rank(), " is not in ", mesh.toString(),
              ", which runs ", *op);
  }
  const std::vector<int64_t> team = mesh.team(communicator->rank(), op->along());
  const bool takes_parts =
      op->type() == CommunicationType::ReduceScatter || op->type() == CommunicationType::Alltoall;
  const int64_t parts = takes_parts ? static_cast<int64_t>(team.size()) : 1;
  std::vector<ExchangedTensor> tensors;
  // Dense copies where a tensor has gaps or another order.
  std::vector<std::vector<std::byte>> dense(2 * op->count());
  for (size_t i = 0; i < op->count(); ++i) {
    const TensorRef& in = call.input(i);
    const TensorRef& out = call.outputs.at(i);
    ExchangedTensor& tensor =
        tensors.emplace_back(ExchangedTensor{in.dtype, in.numel() / parts, in.data, out.data});
    if (!isDense(in)) {
      tensor.in = denseFor(in, *call.machine, dense[2 * i]);
      copyElements(in, in.data, in.strides, dense[2 * i].data(), rowMajorStrides(in.sizes));
    }
    if (!isDense(out)) {
      tensor.out = denseFor(out, *call.machine, dense[2 * i + 1]);
    }
  }
  const std::string name = op->getOpString();
  communicator->exchange({op->type(), op->reduction(), team, tensors, name, call.machine->kind,
                          call.machine->stream, 0, call.machine->index});
  for (size_t i = 0; i < op->count(); ++i) {
    const TensorRef& out = call.outputs[i];
    if (!isDense(out)) {
      copyElements(out, tensors[i].out, rowMajorStrides(out.sizes), out.data, out.strides);
    }
  }
}

}  // namespace nvfuser::external
