#include "known_call.h"

#include <algorithm>

#include "lent_arguments.h"
#include "run_context.h"
#include "tensor_types.h"
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

namespace nvfuser::torchscript {

namespace {

/// Large blocks on the CPU are not made here: PyTorch gives them back to the system after each
/// call, and to have them again costs more than most kernels; the library keeps them.
constexpr int64_t kLargeBytes = 1 << 20;

/// A loop, since lists are short.
bool same(c10::IntArrayRef given, const std::vector<int64_t>& known) {
  if (given.size() != known.size()) {
    return false;
  }
  for (size_t i = 0; i < known.size(); ++i) {
    if (given[i] != known[i]) {
      return false;
    }
  }
  return true;
}

bool isRowMajor(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    if (strides[axis] != expected) {
      return false;
    }
    expected *= std::max<int64_t>(sizes[axis], 1);
  }
  return true;
}

}  // namespace

std::unique_ptr<KnownCall> KnownCall::make(nvf_fusion* fusion, const std::vector<size_t>& taken,
                                           const std::vector<BakedInput>& baked,
                                           c10::ArrayRef<c10::IValue> inputs) {
  const LentArguments arguments(taken, inputs);
  nvf_launch* launch = nullptr;
  int64_t outputs = 0;
  if (arguments.hasCopies() ||
      nvf_launch_create(fusion, arguments.data(), arguments.size(), &launch) != NVF_OK ||
      launch == nullptr) {
    return nullptr;
  }
  std::unique_ptr<KnownCall> call(new KnownCall(launch, baked));
  call->device_ = arguments.device();
  if (nvf_output_count(fusion, &outputs) != NVF_OK ||
      !call->setOutputs(static_cast<size_t>(outputs))) {
    return nullptr;
  }
  call->setInputs(taken, inputs);
  return call;
}

bool KnownCall::setOutputs(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    nvf_tensor_form form = {};
    if (nvf_launch_output(launch_, static_cast<int64_t>(i), &form) != NVF_OK) {
      return false;
    }
    const std::optional<c10::ScalarType> dtype = scalarTypeOf(form.dtype);
    if (!dtype) {
      return false;
    }
    Output output = {.dtype = *dtype,
                     .device = device_,
                     .sizes = {form.sizes, form.sizes + form.ndims},
                     .strides = {form.strides, form.strides + form.ndims},
                     .is_row_major = false,
                     .repeats = false,
                     .made = {}};
    if (device_.is_cpu() &&
        c10::multiply_integers(output.sizes) * static_cast<int64_t>(c10::elementSize(*dtype)) >=
            kLargeBytes) {
      return false;
    }
    output.is_row_major = isRowMajor(output.sizes, output.strides);
    for (size_t axis = 0; axis < output.sizes.size(); ++axis) {
      output.repeats |= output.strides[axis] == 0 && output.sizes[axis] > 1;
    }
    outputs_.push_back(std::move(output));
  }
  addresses_.resize(count);
  return true;
}

void KnownCall::setInputs(const std::vector<size_t>& taken, c10::ArrayRef<c10::IValue> inputs) {
  words_.resize(taken.size() + 1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const c10::IValue& value = inputs[i];
    Input input;
    input.word = static_cast<size_t>(std::find(taken.begin(), taken.end(), i) - taken.begin());
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      input.kind = Kind::Tensor;
      input.keys = tensor.key_set();
      input.dtype = tensor.dtype();
      input.device = tensor.device();
      input.sizes = tensor.sizes().vec();
      input.strides = tensor.strides().vec();
      input.is_empty = tensor.numel() == 0;
    } else if (value.isDouble()) {
      input.kind = Kind::Double;
    } else if (value.isInt()) {
      input.kind = Kind::Integer;
      input.integer = value.toInt();
    } else if (value.isBool()) {
      input.kind = Kind::Bool;
    }
    inputs_.push_back(std::move(input));
  }
}

/// Whether the value is like the input; its word is then set.
bool KnownCall::read(const Input& input, const c10::IValue& value) {
  nvf_word& word = words_[input.word];
  switch (input.kind) {
    case Kind::Tensor: {
      if (!value.isTensor()) {
        return false;
      }
      const c10::TensorImpl* tensor = value.toTensor().unsafeGetTensorImpl();
      // Keys first: where there are others, a tensor may have no sizes or no memory.
      if (tensor->key_set() != input.keys || tensor->dtype() != input.dtype ||
          tensor->device() != input.device || !same(tensor->sizes(), input.sizes) ||
          !same(tensor->strides(), input.strides)) {
        return false;
      }
      // The library does not say const, but writes to no input of a launch.
      word.address = input.is_empty ? nullptr : const_cast<void*>(tensor->data());
      return true;
    }
    case Kind::Double:
      word.real = value.isDouble() ? value.toDouble() : 0;
      return value.isDouble();
    case Kind::Integer:
      word.integer = input.integer;
      return value.isInt() && value.toInt() == input.integer;
    case Kind::Bool:
      word.integer = value.isBool() && value.toBool() ? 1 : 0;
      return value.isBool();
    case Kind::Other:
      // The fusion depends on its value, if on anything: it is among those that are baked.
      return !value.isTensor() && !value.isDouble() && !value.isInt() && !value.isBool();
  }
  return false;
}

bool KnownCall::makeOutputs() {
  try {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      Output& output = outputs_[i];
      if (!output.device.is_cpu()) {
        output.made = at::empty_strided(output.sizes, output.strides,
                                        at::dtype(output.dtype).device(output.device));
      } else if (output.is_row_major) {
        output.made = at::Tensor(at::detail::empty_cpu(output.sizes, output.dtype));
      } else {
        output.made =
            at::Tensor(at::detail::empty_strided_cpu(output.sizes, output.strides, output.dtype));
      }
      addresses_[i] = output.made.mutable_data_ptr();
    }
  } catch (const std::exception&) {  // the way that makes it then fails with its own words
    return false;
  }
  return true;
}

bool KnownCall::run(torch::jit::Stack& stack) {
  const c10::ArrayRef<c10::IValue> inputs = torch::jit::last(stack, inputs_.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!read(inputs_[i], inputs[i])) {
      return false;
    }
  }
  for (const BakedInput& baked : baked_) {
    if (!baked.fits(inputs[baked.input])) {
      return false;
    }
  }
  const RunContext context(device_, 0);
  int32_t done = 0;
  if (!makeOutputs() ||
      nvf_launch_run(launch_, words_.data(), addresses_.data(), context.get(), &done) != NVF_OK ||
      done == 0) {
    for (Output& output : outputs_) {
      output.made.reset();
    }
    return false;
  }
  torch::jit::drop(stack, inputs_.size());
  for (Output& output : outputs_) {
    stack.emplace_back(output.repeats ? output.made.clone(at::MemoryFormat::Contiguous)
                                      : std::move(output.made));
  }
  return true;
}

}  // namespace nvfuser::torchscript
