/// PyTorch's dispatcher by its stable C functions: any operation by its name and overload, without
/// Python. Since PyTorch 2.10; before that there is no such call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "torch_shim.h"

namespace nvfuser::python {

class TorchDispatcher {
 public:
  /// A value on the stack of a call (PyTorch's `StableIValue`): a number, or a handle, which the
  /// call then owns.
  using Word = uint64_t;
  using Handle = TorchShim::Handle;

  /// Null where the loaded PyTorch does not have it.
  static const TorchDispatcher* find();

  // ---- operands ----
  Word tensor(Handle tensor) const;  ///< another handle of it
  Word list(std::span<const Word> items) const;
  Word string(std::string_view text) const;
  Word optional(Word given) const;  ///< of one that the schema has as optional
  bool hasStrings() const { return new_string_ != nullptr; }

  /// `stack` holds the operands and then the results, as many as there are more of. False where the
  /// operation failed.
  bool call(const char* name, const char* overload, Word* stack) const {
    return call_(name, overload, stack, version_()) == 0;
  }
  bool isDefined(Handle tensor) const;
  /// Why the thread's last call failed, in one line; empty where PyTorch has only printed it.
  std::string lastError() const;

 private:
  using Status = int32_t;  ///< 0: success
  using List = void*;
  using String = void*;

  TorchDispatcher() = default;

  Status (*call_)(const char* name, const char* overload, Word* stack, uint64_t version) = nullptr;
  uint64_t (*version_)() = nullptr;
  Status (*new_list_)(size_t size, List* made) = nullptr;
  Status (*push_)(List list, Word item) = nullptr;
  Status (*new_handle_)(Handle tensor, Handle* made) = nullptr;
  Status (*is_defined_)(Handle tensor, bool* defined) = nullptr;
  Status (*new_string_)(const char* data, size_t length, String* made) = nullptr;
  Status (*new_word_)(Word** made) = nullptr;  ///< null: PyTorch takes what `new` gives
  const char* (*error_)() = nullptr;
};

}  // namespace nvfuser::python
