/// One call of an operation that belongs to a library, as plain data: what it is, where its
/// operands and results are, and what an implementation may ask of the machine.
///
/// Tensors have any strides, results too; axes of stride 0 occur in operands only. Sizes are those
/// of the operation; shapes that disagree are a `UserError` of the implementation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <evaluator/interpreter.h>
#include <external/communicator.h>
#include <ir/external_ops.h>
#include <support/device_properties.h>

namespace nvfuser::external {

/// Runs `run(first, last)` over pieces of 0 ≤ t < tasks, and returns when all are done.
using ParallelFor =
    std::function<void(int64_t tasks, const std::function<void(int64_t first, int64_t last)>& run)>;

/// Where the call runs. On the CPU and where the host stands in for a device, memory is the host's.
struct Machine {
  DeviceKind kind = DeviceKind::Cpu;
  int index = 0;
  void* stream = nullptr;
  int threads = 1;
  ParallelFor parallel = [](int64_t tasks, const auto& run) { run(0, tasks); };
  /// Memory of the device, in the order of the stream.
  std::function<void*(size_t bytes)> allocate = {};
  std::function<void(void* data)> release = {};
  /// The allocator that gave the results' memory, as its owner knows it; null: the device.
  const void* allocator = nullptr;
  /// The other devices; null where there are none.
  Communicator* communicator = nullptr;
};

struct Call {
  const Expr* op = nullptr;
  std::vector<InterpreterInput> inputs;  ///< as `op->inputs()`
  std::vector<TensorRef> outputs;        ///< as `op->outputs()`
  const Machine* machine = nullptr;
  /// State of the generator, for an operation that `drawsFromGenerator`: the number of its draw is
  /// in the offset.
  uint64_t philox_seed = 0, philox_offset = 0;
  /// For a matmul or linear: what is done to each number of the result, whose dtype then is that of
  /// `outputs`; and a bias [columns] that a matmul has not itself.
  Epilogue epilogue = Epilogue::None;
  std::optional<TensorRef> added_bias = {};
  /// Where the results' memory comes later: sets `data` of those of `outputs` that have none yet.
  std::function<void()> allocate = {};
  /// Makes a result of memory that the provider allocated: of the result's sizes and strides, a
  /// block of the machine's allocator, which `handle` names to it. Null: results are written where
  /// `outputs` says.
  std::function<void(size_t output, void* data, void* handle)> adopt = {};
  /// What the machine's allocator calls the memory of an operand or a result, which may begin
  /// elsewhere than the tensor; null where that is nothing to it.
  std::function<void*(size_t input)> handleOfInput = {};
  std::function<void*(size_t output)> handleOfOutput = {};
  /// Where a provider that declines the call may say why, and what would help.
  std::string* declined = nullptr;

  bool hasEpilogue() const { return epilogue != Epilogue::None || added_bias.has_value(); }
  const TensorRef& input(size_t i) const { return std::get<TensorRef>(inputs.at(i)); }
  bool isScalar(size_t i) const { return std::holds_alternative<PolymorphicValue>(inputs.at(i)); }
  const PolymorphicValue& scalar(size_t i) const {
    return std::get<PolymorphicValue>(inputs.at(i));
  }
};

/// "matmul", "linear", "scan", "argsort", "topk", "scatter", "sdpfa_fwd", "sdpfa_bwd", "scaled_mm",
/// "grouped_mm": what providers are registered for.
std::string operationName(const Expr* op);

/// In memory of the host, on the machine's threads; takes every operation that `isExternalOp`.
void runPortable(const Call& call);

}  // namespace nvfuser::external
