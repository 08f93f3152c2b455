/// How one device reaches the others: the transport of multidevice/. Who implements it: threads of
/// one process (thread_communicator.h), NCCL (runtime/cuda/nccl_communicator.h), or a process group
/// of torch.distributed that Python hands over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ir/composite_nodes.h>
#include <support/device_properties.h>

namespace nvfuser::external {

/// One tensor of an exchange.
struct ExchangedTensor {
  DataType dtype;
  int64_t elements;  ///< of one part: all of `in`, or what `in` has for one device
  const void* in;    ///< dense
  void* out;         ///< dense, does not overlap `in`; of an Allreduce it may be `in`
};

/// What one device brings to an exchange. All devices of a team bring the same but for addresses.
struct Exchange {
  /// None: what the first device of the team has goes to all, or each device's to another
  /// (`shift`).
  std::optional<CommunicationType> type;
  BinaryOpType reduction;                    ///< Allreduce and ReduceScatter
  std::span<const int64_t> team;             ///< devices, in the order of their parts
  std::span<const ExchangedTensor> tensors;  ///< carried out together
  std::string_view what;                     ///< the operation, for messages
  DeviceKind memory = DeviceKind::Cpu;       ///< where the tensors are
  void* stream = nullptr;                    ///< null on the host
  /// Of an exchange without a type: what each device has goes to the one so many places behind it
  /// in the team, the last ones' to the first; 0: a broadcast.
  int64_t shift = 0;
  int gpu = 0;  ///< the number of the one that has the tensors

  std::string_view name() const {
    return type ? communicationName(*type) : shift != 0 ? "shift" : "broadcast";
  }
  /// "allreduce of 12 elements of dtype float and 3 of dtype half".
  std::string toString() const;
  /// Whether two devices of a team bring the same.
  bool goesWith(const Exchange& other) const;
};

/// What each device of a team receives, at least, whatever the transport.
int64_t receivedBytes(CommunicationType type, int64_t devices, int64_t bytes_of_part);

class Communicator {
 public:
  virtual ~Communicator() = default;
  /// This device's number, and how many there are.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// For reports: "threads", "NCCL".
  virtual std::string_view name() const = 0;
  /// Whether tensors may be in memory of such a device. Others come by way of the host.
  virtual bool takes(DeviceKind memory) const { return memory == DeviceKind::Cpu; }
  /// Fills what the tensors' `out` points to, in the order of the stream; on the host it is there
  /// on return. Throws `UserError` where a device of the team does not come within the time limit,
  /// or comes with another exchange; then each device of the team throws.
  virtual void exchange(const Exchange& exchange) = 0;
  /// One number of each device of a team, in its order. Throws as `exchange` does.
  virtual std::vector<int64_t> numbersOfAll(std::span<const int64_t> team, int64_t own,
                                            std::string_view what) = 0;
  /// Returns when all devices have called it.
  virtual void barrier() = 0;
};

}  // namespace nvfuser::external
