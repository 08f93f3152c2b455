/// A group's call that was made before, known in full: the same call again is a look at each input,
/// memory for the outputs, and a launch.
#pragma once

#include <memory>
#include <vector>

#include "lower_graph.h"
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <capi/nvfuser_c.h>
#include <support/recently_used.h>

namespace nvfuser::torchscript {

/// One thread at a time may use it; the fusion has to outlive it.
class KnownCall {
 public:
  /// Null where such a call is more than a launch, or has outputs that the library keeps better.
  /// `taken`, `baked`: inputs of the group that the fusion takes, and those it depends on.
  static std::unique_ptr<KnownCall> make(nvf_fusion* fusion, const std::vector<size_t>& taken,
                                         const std::vector<BakedInput>& baked,
                                         c10::ArrayRef<c10::IValue> inputs);
  ~KnownCall() { nvf_launch_destroy(launch_); }
  KnownCall(const KnownCall&) = delete;
  KnownCall& operator=(const KnownCall&) = delete;

  /// Whether it did the call whose inputs are on the stack, where the outputs are then; else the
  /// stack is as it was. It does calls like its own: tensors of the same dtypes, devices, sizes,
  /// strides and dispatch keys, with as aligned addresses, and the same integers.
  bool run(torch::jit::Stack& stack);

 private:
  enum class Kind : uint8_t { Tensor, Double, Integer, Bool, Other };
  struct Input {
    Kind kind = Kind::Other;
    size_t word = 0;  ///< of words_, for the fusion
    int64_t integer = 0;
    // Of a tensor.
    c10::DispatchKeySet keys;
    caffe2::TypeMeta dtype;
    c10::Device device = c10::kCPU;
    std::vector<int64_t> sizes, strides;
    bool is_empty = false;
  };
  struct Output {
    c10::ScalarType dtype;
    c10::Device device;
    std::vector<int64_t> sizes, strides;
    bool is_row_major;
    bool repeats;  ///< elements share memory, which PyTorch's never do: it returns a copy
    at::Tensor made;
  };

  KnownCall(nvf_launch* launch, const std::vector<BakedInput>& baked) : launch_(launch) {
    baked_ = baked;
  }
  bool setOutputs(size_t count);
  void setInputs(const std::vector<size_t>& taken, c10::ArrayRef<c10::IValue> inputs);
  bool read(const Input& input, const c10::IValue& value);
  bool makeOutputs();

  nvf_launch* launch_;
  std::vector<BakedInput> baked_;
  std::vector<Input> inputs_;  ///< of the group
  std::vector<Output> outputs_;
  c10::Device device_ = c10::kCPU;  ///< of the launch
  // Of a call.
  std::vector<nvf_word> words_;  ///< the last one is of those that the fusion does not take
  std::vector<void*> addresses_;
};

/// Those that a group made last.
using KnownCalls = RecentlyUsed<KnownCall, 8>;

}  // namespace nvfuser::torchscript
