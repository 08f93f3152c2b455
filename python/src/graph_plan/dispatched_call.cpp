#include "graph_plan/dispatched_call.h"

#include <algorithm>
#include <bit>

#include "torch_dispatcher.h"
#include <runtime/repeated_call.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

using Word = TorchDispatcher::Word;
using Handle = TorchShim::Handle;

/// An operation on tensors of the CPU with fewer elements takes less time than to hand the
/// interpreter's lock over.
constexpr int64_t kFewCopied = int64_t{1} << 14;

}  // namespace

std::unique_ptr<DispatchedCall> DispatchedCall::make(std::string_view name,
                                                     std::string_view overload,
                                                     std::vector<DispatchedOperand> operands) {
  const TorchDispatcher* dispatcher = TorchDispatcher::find();
  if (dispatcher == nullptr) {
    return nullptr;
  }
  std::unique_ptr<DispatchedCall> made(
      new DispatchedCall(*dispatcher, name, overload, std::move(operands)));
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
  const DispatchedOperand& operand = operands_[place];
  Word word = 0;
  int64_t integer = 0;
  switch (operand.kind) {
    case None:
      return 0;
    case Tensor:
      word = dispatcher_.tensor(values.handle(operand.slot));
      break;
    case Integer:
      values.integer(operand.integers[0], integer);
      word = wordOf(integer);
      break;
    case Integers: {
      ShortList<Word, 8> items(operand.integers.size());
      for (size_t i = 0; i < operand.integers.size(); ++i) {
        values.integer(operand.integers[i], integer);
        items[i] = wordOf(integer);
      }
      word = dispatcher_.list({items.data(), operand.integers.size()});
      break;
    }
    case Real:
      word = std::bit_cast<Word>(operand.real);
      break;
    case Code:
      word = codes_[place];
      break;
  }
  return operand.is_optional ? dispatcher_.optional(word) : word;
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
      takes_long |= tensor.cuda_index >= 0 || tensor.numel() >= kFewCopied;
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

bool DispatchedCall::run(Values& values, std::span<const SlotIndex> results) const {
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
  if (!dispatcher_.call(name_.c_str(), overload_.c_str(), stack.data())) {
    return false;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const Handle made = std::bit_cast<Handle>(stack[i]);
    if (dispatcher_.isDefined(made)) {
      values.setTensor(results[i], made);
      continue;
    }
    values.torch()->shim->release(made);
    values.lock().take();
    Py_INCREF(Py_None);
    values.setObject(results[i], Py_None);
  }
  return true;
}

}  // namespace nvfuser::python
