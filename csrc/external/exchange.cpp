#include <external/communicator.h>

namespace nvfuser::external {

std::string Exchange::toString() const {
  std::string result;
  for (const ExchangedTensor& tensor : tensors) {
    append(result,
           text(result.empty() ? text(name(), " of ") : std::string(" and "), tensor.elements,
                result.empty() ? " elements of dtype " : " of dtype ", dataTypeName(tensor.dtype)));
  }
  return result.empty() ? std::string(what) : result;
}

bool Exchange::goesWith(const Exchange& other) const {
  bool alike = type == other.type && reduction == other.reduction && shift == other.shift &&
               tensors.size() == other.tensors.size();
  for (size_t i = 0; alike && i < tensors.size(); ++i) {
    alike = tensors[i].dtype == other.tensors[i].dtype &&
            tensors[i].elements == other.tensors[i].elements;
  }
  return alike;
}

/// Allgather and alltoall: a part of each other device; reduce_scatter: as many sums of its own
/// part; an allreduce is a reduce_scatter of parts of a D-th and an allgather of the sums.
int64_t receivedBytes(CommunicationType type, int64_t devices, int64_t bytes_of_part) {
  if (type == CommunicationType::Allreduce) {
    return 2 * (devices - 1) * bytes_of_part / devices;
  }
  return (devices - 1) * bytes_of_part;
}

}  // namespace nvfuser::external
