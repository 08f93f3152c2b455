#include "lent_arguments.h"

#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>

namespace nvfuser::torchscript {

namespace {

DLTensor borrowed(const at::Tensor& tensor) {
  DLTensor lent = {};
  lent.data = tensor.numel() == 0 ? nullptr : tensor.data_ptr();
  lent.device.device_type = tensor.is_cuda() ? kDLCUDA : kDLCPU;
  lent.device.device_id = tensor.is_cuda() ? tensor.get_device() : 0;
  lent.ndim = static_cast<int32_t>(tensor.dim());
  lent.dtype = at::getDLDataType(tensor);
  // The tensor's own arrays; DLPack does not say const.
  lent.shape = const_cast<int64_t*>(tensor.sizes().data());
  lent.strides = const_cast<int64_t*>(tensor.strides().data());
  return lent;
}

}  // namespace

LentArguments::LentArguments(const std::vector<size_t>& taken, c10::ArrayRef<c10::IValue> inputs)
    : arguments_(taken.size()), tensors_(taken.size()) {
  for (size_t i = 0; i < taken.size(); ++i) {
    set(i, inputs[taken[i]]);
  }
}

void LentArguments::set(size_t i, const c10::IValue& input) {
  nvf_argument& argument = arguments_[i];
  argument = {};
  if (input.isTensor()) {
    const at::Tensor* tensor = &input.toTensor();
    if (tensor->is_conj() || tensor->is_neg()) {
      resolved_.push_back(std::make_unique<at::Tensor>(tensor->resolve_conj().resolve_neg()));
      tensor = resolved_.back().get();
    }
    tensors_[i] = borrowed(*tensor);
    if (tensor->is_cuda()) {
      device_ = tensor->device();
    }
    argument.kind = NVF_ARG_TENSOR;
    argument.tensor = &tensors_[i];
  } else if (input.isDouble()) {
    argument.kind = NVF_ARG_DOUBLE;
    argument.real = input.toDouble();
  } else if (input.isInt()) {
    argument.kind = NVF_ARG_INT;
    argument.integer = input.toInt();
  } else {
    argument.kind = NVF_ARG_BOOL;
    argument.integer = input.toBool() ? 1 : 0;
  }
}

}  // namespace nvfuser::torchscript
