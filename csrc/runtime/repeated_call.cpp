#include <runtime/repeated_call.h>

namespace nvfuser {

LentArgument::LentArgument(const KernelArgument& argument) {
  if (!argument.isTensor()) {
    value_ = argument.scalar();
  } else if (const Tensor& tensor = argument.tensor(); tensor.defined()) {
    value_ = LentTensor{.data = tensor.data(),
                        .dtype = tensor.dtype(),
                        .sizes = tensor.sizes(),
                        .strides = tensor.strides(),
                        .device = tensor.isMeta() ? nullptr : &tensor.device()};
  }
}

LentArguments::LentArguments(const KernelArgumentHolder& holder) : list_(holder.size()) {
  for (size_t i = 0; i < holder.size(); ++i) {
    list_[i] = LentArgument(holder[i]);
  }
}

}  // namespace nvfuser
