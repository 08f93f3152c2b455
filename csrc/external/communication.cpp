#include <external/communication.h>

#include <cstring>
#include <vector>

namespace nvfuser::external {

namespace {

bool isRowMajor(const TensorRef& tensor) {
  int64_t stride = 1;
  for (size_t i = tensor.sizes.size(); i-- > 0;) {
    if (tensor.sizes[i] != 1 && tensor.strides[i] != stride) {
      return false;
    }
    stride *= tensor.sizes[i];
  }
  return true;
}

/// Calls `body(offset, place)` for each element: its bytes from the start, its row-major place.
template <typename Body>
void forEachElement(const TensorRef& tensor, const Body& body) {
  const int64_t bytes = dataTypeSizeByte(tensor.dtype);
  const int64_t count = tensor.numel();
  std::vector<int64_t> index(tensor.sizes.size(), 0);
  int64_t offset = 0;
  for (int64_t place = 0; place < count; ++place) {
    body(offset * bytes, place * bytes);
    for (size_t axis = index.size(); axis-- > 0;) {
      offset += tensor.strides[axis];
      if (++index[axis] < tensor.sizes[axis]) {
        break;
      }
      offset -= index[axis] * tensor.strides[axis];
      index[axis] = 0;
    }
  }
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
  if (!isRowMajor(in)) {
    dense_in.resize(static_cast<size_t>(count) * bytes);
    forEachElement(in, [&](int64_t offset, int64_t place) {
      std::memcpy(&dense_in[static_cast<size_t>(place)],
                  static_cast<const std::byte*>(in.data) + offset, bytes);
    });
    exchange.in = dense_in.data();
  }
  if (!isRowMajor(out)) {
    dense_out.resize(static_cast<size_t>(out.numel()) * bytes);
    exchange.out = dense_out.data();
  }
  communicator->exchange(exchange);
  if (!dense_out.empty()) {
    forEachElement(out, [&](int64_t offset, int64_t place) {
      std::memcpy(static_cast<std::byte*>(out.data) + offset,
                  &dense_out[static_cast<size_t>(place)], bytes);
    });
  }
}

}  // namespace nvfuser::external
