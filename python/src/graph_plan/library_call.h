/// Operations of PyTorch's libraries by its stable C functions, without Python: products of
/// matrices, attention on the CPU and convolutions by functions of their own, which cost least.
/// (All others: dispatched_call.h.)
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph_plan/values.h"

namespace nvfuser::python {

/// Operands of a call, as the operation's schema has them.
struct LibraryOperands {
  std::vector<std::optional<SlotIndex>> tensors;  ///< none: it was not given
  std::vector<std::optional<double>> numbers;
  std::vector<std::vector<int64_t>> lists;
};

class LibraryCall {
 public:
  /// Null where the operation has no such function here.
  static std::unique_ptr<LibraryCall> make(std::string_view operation, LibraryOperands operands);
  virtual ~LibraryCall() = default;
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

  /// False where the tensors are not as the function wants them, or it fails: nothing was done
  /// then, and PyTorch's way for all does it or says what is wrong. Others may have the lock after.
  virtual bool run(Values& values, std::span<const SlotIndex> results) const = 0;

 protected:
  explicit LibraryCall(LibraryOperands operands = {}) : operands_(std::move(operands)) {}

  LibraryOperands operands_;
};

}  // namespace nvfuser::python
