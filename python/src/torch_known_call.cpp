#include "torch_known_call.h"

#include <algorithm>

#include "interruptible.h"
#include "torch_arrays.h"
#include <runtime/repeated_launch.h>
#include <support/options.h>

namespace nvfuser::python {

namespace {

/// A kernel on the CPU that reads and writes no more elements takes less time than to hand the lock
/// over.
constexpr int64_t kFewElements = 1024;

int64_t elements(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    count *= size;
  }
  return count;
}

}  // namespace

std::unique_ptr<TorchKnownCall> TorchKnownCall::make(FusionExecutorCache& executor,
                                                     const Torch& torch,
                                                     std::span<const TorchValue> inputs) {
  ShortList<LentArgument, 8> arguments(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!lend(inputs[i], arguments[i])) {
      return nullptr;
    }
  }
  std::unique_ptr<TorchKnownCall> call(new TorchKnownCall(torch));
  call->launch_ = executor.repeatedLaunch(arguments.span(), Options::current());
  if (call->launch_ == nullptr) {
    return nullptr;
  }
  call->on_cuda_ = call->launch_->device().kind() == DeviceKind::Cuda;
  call->others_run_ = call->on_cuda_;
  if (!call->setOutputs()) {
    return nullptr;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    call->addInput(inputs[i]);
    call->inputs_.back().is_free = executor.isFreeInteger(i);
  }
  return call;
}

TorchKnownCall::TorchKnownCall(const Torch& torch) : torch_(torch) {}

TorchKnownCall::~TorchKnownCall() { drop(); }

bool TorchKnownCall::setOutputs() {
  made_.resize(launch_->numOutputs());
  addresses_.resize(launch_->numOutputs());
  for (size_t i = 0; i < launch_->numOutputs(); ++i) {
    const Allocator::Form form = launch_->outputForm(i);
    const int64_t count = elements(form.sizes);
    const auto bytes = static_cast<size_t>(count * dataTypeSizeByte(form.dtype));
    if (!torch_.shim->knows(form.dtype) || (!on_cuda_ && bytes >= TorchAllocator::kLargeBytes)) {
      return false;
    }
    others_run_ |= count > kFewElements;
  }
  return true;
}

void TorchKnownCall::addInput(const TorchValue& value) {
  words_.emplace_back();
  Input& input = inputs_.emplace_back();
  input.kind = value.kind;
  if (value.kind == TorchValue::Kind::Tensor) {
    input.dtype = value.dtype;
    input.cuda_index = value.cuda_index;
    input.sizes.assign(value.sizes.begin(), value.sizes.end());
    input.strides.assign(value.strides.begin(), value.strides.end());
    input.is_empty = value.numel() == 0;
    others_run_ |= value.numel() > kFewElements;
  } else if (value.kind == TorchValue::Kind::Integer) {
    input.integer = value.word.integer;
  }
}

bool TorchKnownCall::isLike(const Input& input, const TorchValue& value) {
  if (value.kind != input.kind) {
    return false;
  }
  if (value.kind != TorchValue::Kind::Tensor) {
    return value.kind != TorchValue::Kind::Integer || input.is_free ||
           value.word.integer == input.integer;
  }
  return value.dtype == input.dtype && value.cuda_index == input.cuda_index &&
         std::equal(value.sizes.begin(), value.sizes.end(), input.sizes.begin(),
                    input.sizes.end()) &&
         std::equal(value.strides.begin(), value.strides.end(), input.strides.begin(),
                    input.strides.end()) &&
         (value.word.address != nullptr || input.is_empty);  // its storage may have been given up
}

TorchShim::Handle TorchKnownCall::makeOutput(size_t i, std::span<const StrideOfOne> ones) const {
  Allocator::Form form = launch_->outputForm(i);
  ShortList<int64_t, 8> strides(form.strides.size());
  if (!ones.empty()) {
    std::copy(form.strides.begin(), form.strides.end(), strides.data());
    for (const StrideOfOne& one : ones) {
      if (one.output == i) {
        strides[one.axis] = one.stride;
      }
    }
    form.strides = strides.span();
  }
  return torch_.shim->empty(form, launch_->device());
}

/// False where PyTorch fails: the way of every call then does, too, with words of its own.
bool TorchKnownCall::makeOutputs(std::span<const StrideOfOne> ones) {
  for (size_t i = 0; i < made_.size(); ++i) {
    made_[i] = makeOutput(i, ones);
    if (made_[i] == nullptr) {
      drop();
      return false;
    }
    addresses_[i] = torch_.shim->dataOf(made_[i]);
  }
  return true;
}

void TorchKnownCall::drop() {
  for (TorchShim::Handle& tensor : made_) {
    if (tensor != nullptr) {
      torch_.shim->release(std::exchange(tensor, nullptr));
    }
  }
}

bool TorchKnownCall::run(std::span<const TorchValue> inputs, std::span<const StrideOfOne> ones,
                         InterpreterLock& lock) {
  if (inputs.size() != inputs_.size()) {
    return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!isLike(inputs_[i], inputs[i])) {
      return false;
    }
    words_[i] = inputs[i].word;
  }
  if (!launch_->take(words_.data())) {
    return false;
  }
  Interruptible call;
  RunContext context;
  context.cancellation = call.cancellation();
  if (on_cuda_) {
    context.stream = currentStream(torch_, launch_->device().index());
  }
  if (launch_->allocates()) {
    context.allocator = torch_.allocator;
  }
  if (others_run_) {
    lock.give();
  }
  if (!makeOutputs(ones)) {
    return false;
  }
  try {
    call.run([&] { launch_->run(addresses_.data(), context); });
  } catch (...) {
    drop();
    throw;
  }
  return true;
}

}  // namespace nvfuser::python
