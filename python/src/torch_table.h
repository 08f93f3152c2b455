/// PyTorch, as far as it was imported: its tensor classes, its table for exchanging tensors in C,
/// and its allocator.
#pragma once

#include <memory>
#include <optional>

#include "torch_inside.h"
#include "torch_shim.h"
#include <Python.h>
#include <runtime/dlpack.h>

namespace nvfuser::python {

/// Facts of DLPack 1.3: what torch.Tensor.__dlpack_c_exchange_api__ points to. Functions return 0,
/// or -1 with a Python error set.
struct ExchangeTable {
  DLPackVersion version;
  ExchangeTable* previous;
  int (*allocate)(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*from_object)(void* object, DLManagedTensorVersioned** out);
  int (*to_object)(DLManagedTensorVersioned* tensor, void** out);
  int (*borrow)(void* object, DLTensor* out);
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};

struct Torch {
  PyTypeObject* tensor;
  PyTypeObject* parameter;
  const ExchangeTable* table;            ///< null before PyTorch 2.10
  const TorchShim* shim;                 ///< null where its C functions are not as they should be
  std::optional<TorchInside> inside;     ///< none without the shim
  std::shared_ptr<Allocator> allocator;  ///< null without the shim
};

/// Null while PyTorch was not imported; we never import it.
const Torch* importedTorch();

}  // namespace nvfuser::python
