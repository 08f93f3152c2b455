/// An argument of a call, read once: what PyTorch's own functions tell of a plain tensor, or a
/// number.
#pragma once

#include <cstdint>
#include <span>

#include "torch_table.h"
#include <runtime/repeated_call.h>

namespace nvfuser::python {

struct TorchValue {
  enum class Kind : uint8_t { Tensor, Double, Integer, Bool };

  Kind kind = Kind::Tensor;
  LentWord word{};  ///< of a tensor: where its first element is, null if it has no memory
  // Of a tensor.
  DataType dtype;
  int32_t cuda_index = -1;  ///< −1: on the CPU
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;

  int64_t numel() const;
};

/// False for all but plain tensors (`TorchInside::isPlain`) and exact bools, floats and ints of 64
/// bits. The value points into the object. The interpreter's lock is held.
bool readValue(const Torch& torch, PyObject* object, TorchValue& value);
/// The same of a tensor that has a handle and is known to be plain. The lock need not be held.
void readTensor(const Torch& torch, TorchShim::Handle tensor, TorchValue& value);
/// Whether an object is of PyTorch's own classes and plain.
bool isPlainTensor(const Torch& torch, PyObject* object);

/// For the core; false where it has no such dtype or device.
bool lend(const TorchValue& value, LentArgument& lent);

}  // namespace nvfuser::python
