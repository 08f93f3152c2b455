#include "graph_plan/dispatched_call.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include <runtime/repeated_call.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

using Word = uint64_t;   ///< a value on the stack of a call (PyTorch's `StableIValue`)
using Status = int32_t;  ///< 0: success
using List = void*;
using Handle = TorchShim::Handle;

/// An operation on tensors of the CPU with fewer elements takes less time than to hand the
/// interpreter's lock over.
constexpr int64_t kFewElements = int64_t{1} << 14;

}  // namespace

/// PyTorch's, looked up once.
struct DispatchedCall::Functions {
  Status (*call)(const char* name, const char* overload, Word* stack, uint64_t version);
  uint64_t (*version)();
  Status (*new_list)(size_t size, List* made);
  Status (*push)(List list, Word item);
  Status (*drop_list)(List list);
  Status (*new_handle)(Handle tensor, Handle* made);
  Status (*new_undefined)(Handle* made);
  Status (*is_defined)(Handle tensor, bool* defined);
  Status (*new_word)(Word** made);  ///< null: PyTorch takes what `new` gives
  bool are_complete;
};

const DispatchedCall::Functions& DispatchedCall::functions() {
  static const Functions found = [] {
    Functions all{};
    const auto look_up = [](auto& function, const char* name) {
      function = TorchShim::function<std::remove_reference_t<decltype(function)>>(name);
      return function != nullptr;
    };
    all.are_complete = look_up(all.call, "torch_call_dispatcher") &&
                       look_up(all.version, "aoti_torch_abi_version") &&
                       look_up(all.new_list, "torch_new_list_reserve_size") &&
                       look_up(all.push, "torch_list_push_back") &&
                       look_up(all.drop_list, "torch_delete_list") &&
                       look_up(all.new_handle, "aoti_torch_new_tensor_handle") &&
                       look_up(all.new_undefined, "aoti_torch_new_uninitialized_tensor") &&
                       look_up(all.is_defined, "aoti_torch_is_defined");
    look_up(all.new_word, "torch_new_stable_ivalue");
    return all;
  }();
  return found;
}

std::unique_ptr<DispatchedCall> DispatchedCall::make(std::string_view name,
                                                     std::string_view overload,
                                                     std::vector<DispatchedOperand> operands,
                                                     bool integers) {
  if (!functions().are_complete) {
    return nullptr;
  }
  std::unique_ptr<DispatchedCall> made(
      new DispatchedCall(name, overload, std::move(operands), integers));
  for (const DispatchedOperand& operand : made->operands_) {
    Word code = 0;
    if (operand.kind == DispatchedOperand::Kind::Code) {
      auto* function = TorchShim::function<int32_t (*)()>(operand.function.c_str());
      if (function == nullptr) {
        return nullptr;
      }
      code = static_cast<uint32_t>(function());
    }
    made->codes_.push_back(code);
  }
  return made;
}

namespace {

Word wordOf(int64_t value) { return std::bit_cast<Word>(value); }

}  // namespace

/// As the dispatcher takes it, which owns it then. All that can fail was asked before.
uint64_t DispatchedCall::word(size_t place, Values& values) const {
  using enum DispatchedOperand::Kind;
  const Functions& of_torch = functions();
  const DispatchedOperand& operand = operands_[place];
  Word word = 0;
  int64_t integer = 0;
  switch (operand.kind) {
    case None:
      return 0;
    case Undefined: {
      Handle made = nullptr;
      check(of_torch.new_undefined(&made) == 0, "PyTorch makes an undefined tensor");
      word = std::bit_cast<Word>(made);
      break;
    }
    case Tensor: {
      Handle made = nullptr;
      check(of_torch.new_handle(values.handle(operand.slot), &made) == 0,
            "PyTorch makes another handle of a tensor");
      word = std::bit_cast<Word>(made);
      break;
    }
    case Integer:
      values.integer(operand.integers[0], integer);
      word = wordOf(integer);
      break;
    case Integers: {
      List list = nullptr;
      check(of_torch.new_list(operand.integers.size(), &list) == 0, "PyTorch makes a list");
      for (const PlanInteger& item : operand.integers) {
        values.integer(item, integer);
        check(of_torch.push(list, wordOf(integer)) == 0, "PyTorch makes a list longer");
      }
      word = std::bit_cast<Word>(list);
      break;
    }
    case Real:
      word = std::bit_cast<Word>(operand.real);
      break;
    case Code:
      word = codes_[place];
      break;
  }
  if (!operand.is_optional) {
    return word;
  }
  Word* held = nullptr;
  if (of_torch.new_word == nullptr) {
    held = new Word;
  } else {
    check(of_torch.new_word(&held) == 0, "PyTorch makes an optional value");
  }
  *held = word;
  return std::bit_cast<Word>(held);
}

/// Tensors are plain and numbers integers, and how many elements there are to work on: all, on a
/// GPU.
bool DispatchedCall::canRead(Values& values, bool& takes_long) const {
  for (const DispatchedOperand& operand : operands_) {
    if (operand.kind == DispatchedOperand::Kind::Tensor) {
      TorchValue tensor;
      if (values.handle(operand.slot) == nullptr || !values.read(operand.slot, tensor)) {
        return false;
      }
      takes_long |= tensor.cuda_index >= 0 || tensor.numel() >= kFewElements;
    }
    for (const PlanInteger& integer : operand.integers) {
      int64_t value = 0;
      if (!values.integer(integer, value)) {
        return false;
      }
    }
  }
  return true;
}

void DispatchedCall::takeTensor(uint64_t word, SlotIndex slot, Values& values) const {
  const Handle made = std::bit_cast<Handle>(word);
  bool is_defined = false;
  check(functions().is_defined(made, &is_defined) == 0, "PyTorch tells whether there is a tensor");
  if (is_defined) {
    values.setTensor(slot, made);
    return;
  }
  values.torch()->shim->release(made);
  values.lock().take();
  Py_INCREF(Py_None);
  values.setObject(slot, Py_None);
}

bool DispatchedCall::run(Values& values, std::span<const SlotIndex> results) const {
  const Functions& of_torch = functions();
  bool takes_long = false;
  if (!canRead(values, takes_long)) {
    return false;
  }
  ShortList<Word, 16> stack(std::max(operands_.size(), results.size()));
  for (size_t place = 0; place < operands_.size(); ++place) {
    stack[place] = word(place, values);
  }
  if (takes_long) {
    values.lock().give();
  }
  if (of_torch.call(name_.c_str(), overload_.c_str(), stack.data(), of_torch.version()) != 0) {
    return false;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (integers_) {
      values.setInteger(results[i], std::bit_cast<int64_t>(stack[i]));
    } else {
      takeTensor(stack[i], results[i], values);
    }
  }
  return true;
}

}  // namespace nvfuser::python
