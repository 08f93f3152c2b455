#include <external/communication.h>

#include <cstring>
#include <vector>

#include <evaluator/strided_loop.h>

namespace nvfuser::external {

namespace {

using Strides = std::vector<int64_t>;

/// Strides of axes of one element do not matter.
bool isDense(const TensorRef& tensor) {
  const Strides dense = rowMajorStrides(tensor.sizes);
  for (size_t i = 0; i < dense.size(); ++i) {
    if (tensor.sizes[i] != 1 && tensor.strides[i] != dense[i]) {
      return false;
    }
  }
  return true;
}

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

}  // namespace

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
  const TensorRef& in = call.input(0);
  const TensorRef& out = call.outputs.at(0);
  const auto bytes = static_cast<size_t>(dataTypeSizeByte(in.dtype));
  // Dense copies where a tensor has gaps or another order.
  std::vector<std::byte> dense_in, dense_out;
  const std::string name = op->getOpString();
  Exchange exchange{op->type(), op->reduction(),      in.dtype, team, 0, in.data,
                    out.data,   call.machine->stream, name};
  const int64_t count = in.numel();
  const bool takes_parts =
      op->type() == CommunicationType::ReduceScatter || op->type() == CommunicationType::Alltoall;
  exchange.elements = takes_parts ? count / static_cast<int64_t>(team.size()) : count;
  if (!isDense(in)) {
    dense_in.resize(static_cast<size_t>(count) * bytes);
    copyElements(in, in.data, in.strides, dense_in.data(), rowMajorStrides(in.sizes));
    exchange.in = dense_in.data();
  }
  if (!isDense(out)) {
    dense_out.resize(static_cast<size_t>(out.numel()) * bytes);
    exchange.out = dense_out.data();
  }
  communicator->exchange(exchange);
  if (!isDense(out)) {
    copyElements(out, dense_out.data(), rowMajorStrides(out.sizes), out.data, out.strides);
  }
}

}  // namespace nvfuser::external
