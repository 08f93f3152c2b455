#include <runtime/executor_kernel_arg.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace nvfuser {

const Tensor& KernelArgument::tensor() const {
  check(isTensor(), "an argument that is a scalar was taken for a tensor");
  return std::get<Tensor>(value_);
}

Tensor KernelArgument::takeTensor() {
  check(isTensor(), "an argument that is a scalar was taken for a tensor");
  return std::get<Tensor>(std::exchange(value_, {}));
}

const PolymorphicValue& KernelArgument::scalar() const {
  check(!isTensor(), "an argument that is a tensor was taken for a scalar");
  return std::get<PolymorphicValue>(value_);
}

InterpreterInput KernelArgument::input() const {
  if (isTensor()) {
    return tensor().ref();
  }
  return scalar();
}

std::string KernelArgument::toString() const {
  return isTensor() ? tensor().toString() : scalar().toString();
}

void KernelArgumentHolder::erase(const KernelArgument* argument) {
  auto at = std::find_if(arguments_.begin(), arguments_.end(),
                         [&](const KernelArgument& each) { return &each == argument; });
  check(at != arguments_.end(), "an argument is to be erased from a holder that does not have it");
  arguments_.erase(at);
}

int8_t KernelArgumentHolder::getDeviceIndex() const {
  if (device_index_) {
    return *device_index_;
  }
  const Tensor* first = nullptr;
  for (const KernelArgument& argument : arguments_) {
    if (!argument.isTensor() || !argument.tensor().defined() || argument.tensor().isMeta()) {
      continue;
    }
    const Tensor& tensor = argument.tensor();
    if (first != nullptr && &first->device() != &tensor.device()) {
      // A 0-dim tensor of the CPU stands for a scalar.
      if (tensor.dim() == 0 && tensor.device().kind() == DeviceKind::Cpu) {
        continue;
      }
      if (first->dim() != 0 || first->device().kind() != DeviceKind::Cpu) {
        userError("the arguments are on different devices: ", *first, " and ", tensor);
      }
    }
    first = &tensor;
  }
  return first == nullptr ? int8_t{0} : static_cast<int8_t>(first->device().index());
}

PrimDataType KernelArgumentHolder::getSmallestIndexTypeOfArguments() const {
  for (const KernelArgument& argument : arguments_) {
    if (!argument.isTensor()) {
      continue;
    }
    const Tensor& tensor = argument.tensor();
    int64_t last = 0;
    int64_t count = 1;
    for (size_t axis = 0; axis < tensor.sizes().size(); ++axis) {
      last += (tensor.sizes()[axis] - 1) * tensor.strides()[axis];
      count *= tensor.sizes()[axis];
    }
    if (count > 0 && std::max(last, count) > std::numeric_limits<int32_t>::max()) {
      return PrimDataType::Int;
    }
  }
  return PrimDataType::Int32;
}

KernelArgumentHolder KernelArgumentHolder::onHost(Stream stream) const {
  KernelArgumentHolder result;
  for (const KernelArgument& argument : arguments_) {
    if (!argument.isTensor() || argument.tensor().isMeta() ||
        argument.tensor().device().kind() == DeviceKind::Cpu) {
      result.push(argument);
      continue;
    }
    const Tensor& tensor = argument.tensor();
    Tensor host = Tensor::emptyStrided(tensor.sizes(), tensor.strides(), tensor.dtype());
    host.copyFrom(tensor, stream);
    result.push(host);
  }
  return result;
}

std::vector<InterpreterInput> KernelArgumentHolder::inputs() const {
  std::vector<InterpreterInput> result;
  result.reserve(arguments_.size());
  for (const KernelArgument& argument : arguments_) {
    result.push_back(argument.input());
  }
  return result;
}

std::string KernelArgumentHolder::toString() const {
  return text("[", join(arguments_, ", "), "]");
}

}  // namespace nvfuser
