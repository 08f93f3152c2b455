#include "torch_dispatcher.h"

#include <bit>
#include <optional>
#include <type_traits>

#include <support/error.h>

namespace nvfuser::python {

const TorchDispatcher* TorchDispatcher::find() {
  static const std::optional<TorchDispatcher> found = []() -> std::optional<TorchDispatcher> {
    TorchDispatcher all;
    const auto lookUp = [](auto& function, const char* name) {
      function = TorchShim::function<std::remove_reference_t<decltype(function)>>(name);
      return function != nullptr;
    };
    const bool is_complete = lookUp(all.call_, "torch_call_dispatcher") &&
                             lookUp(all.version_, "aoti_torch_abi_version") &&
                             lookUp(all.new_list_, "torch_new_list_reserve_size") &&
                             lookUp(all.push_, "torch_list_push_back") &&
                             lookUp(all.new_handle_, "aoti_torch_new_tensor_handle") &&
                             lookUp(all.is_defined_, "aoti_torch_is_defined");
    lookUp(all.new_string_, "torch_new_string_handle");
    lookUp(all.new_word_, "torch_new_stable_ivalue");
    // Since 2.13; the versions before have, if any, a function of C++.
    if (!lookUp(all.error_, "torch_exception_get_what_without_backtrace")) {
      lookUp(all.error_, "_ZN5torch12aot_inductor14get_last_errorEv");
    }
    return is_complete ? std::optional(all) : std::nullopt;
  }();
  return found ? &*found : nullptr;
}

TorchDispatcher::Word TorchDispatcher::tensor(Handle tensor) const {
  Handle made = nullptr;
  check(new_handle_(tensor, &made) == 0, "PyTorch makes another handle of a tensor");
  return std::bit_cast<Word>(made);
}

TorchDispatcher::Word TorchDispatcher::list(std::span<const Word> items) const {
  List list = nullptr;
  check(new_list_(items.size(), &list) == 0, "PyTorch makes a list");
  for (Word item : items) {
    check(push_(list, item) == 0, "PyTorch makes a list longer");
  }
  return std::bit_cast<Word>(list);
}

TorchDispatcher::Word TorchDispatcher::string(std::string_view text) const {
  String made = nullptr;
  check(new_string_(text.data(), text.size(), &made) == 0, "PyTorch makes a string");
  return std::bit_cast<Word>(made);
}

TorchDispatcher::Word TorchDispatcher::optional(Word given) const {
  Word* held = nullptr;
  if (new_word_ == nullptr) {
    held = new Word;
  } else {
    check(new_word_(&held) == 0, "PyTorch makes an optional value");
  }
  *held = given;
  return std::bit_cast<Word>(held);
}

bool TorchDispatcher::isDefined(Handle tensor) const {
  bool is_defined = false;
  check(is_defined_(tensor, &is_defined) == 0, "PyTorch tells whether there is a tensor");
  return is_defined;
}

std::string TorchDispatcher::lastError() const {
  const char* said = error_ != nullptr ? error_() : nullptr;
  const std::string message = said != nullptr ? said : "";
  return message.substr(0, message.find('\n'));
}

}  // namespace nvfuser::python
