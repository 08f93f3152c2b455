/// What a torch.Tensor holds, read where it lies: without a call of Python's, a reference or a
/// lock. Only what PyTorch's stable functions (torch_shim.h) do not tell is found here, by looking
/// at tensors of which the answers are known; nothing is found where one is not as it should be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "torch_shim.h"

namespace nvfuser::python {

class TorchInside {
 public:
  /// None where the imported PyTorch is built otherwise.
  static std::optional<TorchInside> find(const nb::object& torch, const TorchShim& shim);

  /// The tensor that a torch.Tensor is a Python object of; the object keeps it.
  TorchShim::Handle handleOf(PyObject* tensor) const {
    return reinterpret_cast<std::byte*>(tensor) + tensor_;
  }
  /// Its dispatch keys, which say what kind of a tensor it is: on which kind of device, sparse,
  /// lazily negated, wrapped by vmap … Tensors with the keys of a plain one are plain.
  uint64_t keysOf(TorchShim::Handle tensor) const {
    const auto* inside = *static_cast<const std::byte* const*>(tensor);
    return *reinterpret_cast<const uint64_t*>(inside + keys_);
  }
  uint64_t keysOf(PyObject* tensor) const { return keysOf(handleOf(tensor)); }
  /// Whether it is a strided tensor of the CPU or of CUDA with memory of its own numbers, and
  /// nothing more: no wrapper, no lazy view, nothing that has rules of its own.
  bool isPlain(TorchShim::Handle tensor) const { return (keysOf(tensor) & ~plain_) == 0; }
  /// Whether it is a lazily negated or conjugated view, of which the memory does not tell.
  bool isLazy(PyObject* tensor) const { return (keysOf(tensor) & lazy_) != 0; }

 private:
  size_t tensor_ = 0;   ///< where a torch.Tensor has its at::Tensor, a pointer
  size_t keys_ = 0;     ///< where that has its keys
  uint64_t lazy_ = 0;   ///< the keys of lazy views
  uint64_t plain_ = 0;  ///< all that plain tensors may have
};

}  // namespace nvfuser::python
