/// The inputs of a group as its fusion takes them: tensors lent through DLPack, and numbers.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/ivalue.h>
#include <ATen/dlpack.h>
#include <c10/util/SmallVector.h>
#include <capi/nvfuser_c.h>

namespace nvfuser::torchscript {

/// Valid while the inputs are.
class LentArguments {
 public:
  /// `taken`: those of the group's inputs that the fusion takes, in its order.
  LentArguments(const std::vector<size_t>& taken, c10::ArrayRef<c10::IValue> inputs);
  LentArguments(const LentArguments&) = delete;
  LentArguments& operator=(const LentArguments&) = delete;

  const nvf_argument* data() const { return arguments_.data(); }
  int64_t size() const { return static_cast<int64_t>(arguments_.size()); }
  c10::Device device() const { return device_; }
  /// Whether some were lazily conjugated or negated, and copies are lent.
  bool hasCopies() const { return !resolved_.empty(); }

 private:
  void set(size_t i, const c10::IValue& input);

  static constexpr size_t kFew = 16;  ///< need no memory of their own
  c10::SmallVector<nvf_argument, kFew> arguments_;
  c10::SmallVector<DLTensor, kFew> tensors_;
  std::vector<std::unique_ptr<at::Tensor>> resolved_;
  c10::Device device_ = c10::kCPU;
};

}  // namespace nvfuser::torchscript
