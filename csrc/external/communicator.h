/// How one device reaches the others: the transport of multidevice/. Who implements it: threads of
/// one process (thread_communicator.h), NCCL, or a process group of torch.distributed that Python
/// hands over.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <ir/composite_nodes.h>

namespace nvfuser::external {

/// What one device brings to an exchange. All devices of a team bring the same but for `in` and
/// `out`.
struct Exchange {
  CommunicationType type;
  BinaryOpType reduction;  ///< Allreduce and ReduceScatter
  DataType dtype;
  std::span<const int64_t> team;  ///< devices, in the order of their parts
  int64_t elements;               ///< of one part: all of `in`, or what `in` has for one device
  const void* in;                 ///< dense
  void* out;                      ///< dense, does not overlap `in`
  void* stream;                   ///< null on the host
  std::string_view what;          ///< the operation, for messages
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  /// This device's number, and how many there are.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// Fills `out`, in the order of the stream; on the host it is there on return. Throws `UserError`
  /// where a device of the team does not come within the time limit, or comes with another
  /// exchange; then each device of the team throws.
  virtual void exchange(const Exchange& exchange) = 0;
  /// Returns when all devices have called it.
  virtual void barrier() = 0;
};

}  // namespace nvfuser::external
