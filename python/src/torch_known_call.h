/// A call on tensors of PyTorch that was made before, known in full: the same call again is a look
/// at each input, memory for the outputs, and launches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "interpreter_lock.h"
#include "torch_value.h"
#include <runtime/fusion_executor_cache.h>

namespace nvfuser::python {

/// An axis of one element of an output, which is to have this stride: nothing is stored by it.
struct StrideOfOne {
  uint32_t output;
  uint32_t axis;
  int64_t stride;
};

/// One thread at a time may use it; the executor has to outlive it.
class TorchKnownCall {
 public:
  /// Null where such a call is more than launches, and where outputs are blocks that the library
  /// keeps better.
  static std::unique_ptr<TorchKnownCall> make(FusionExecutorCache& executor, const Torch& torch,
                                              std::span<const TorchValue> inputs);
  ~TorchKnownCall();
  TorchKnownCall(const TorchKnownCall&) = delete;
  TorchKnownCall& operator=(const TorchKnownCall&) = delete;

  /// Whether the call is like this one; if not, nothing was done. Alike are calls with the same
  /// integers, but for those that no plan depends on, and tensors with the same dtypes, devices,
  /// sizes and strides, and with as aligned addresses. The inputs' memory must stay: other threads
  /// may run meanwhile, as `lock` is given to them where a launch takes longer than that.
  bool run(std::span<const TorchValue> inputs, std::span<const StrideOfOne> ones,
           InterpreterLock& lock);

  // Of the run before: its outputs are PyTorch's tensors from the start.
  size_t numOutputs() const { return made_.size(); }
  /// To be called once for each; whoever calls it owns the tensor then.
  TorchShim::Handle takeOutput(size_t i) { return std::exchange(made_[i], nullptr); }

 private:
  struct Input {
    TorchValue::Kind kind = TorchValue::Kind::Tensor;
    int64_t integer = 0;
    bool is_free = false;  ///< an integer that no plan depends on
    // Of a tensor.
    DataType dtype;
    int32_t cuda_index = -1;
    bool is_empty = false;
    std::vector<int64_t> sizes, strides;
  };

  explicit TorchKnownCall(const Torch& torch);
  bool setOutputs();
  void addInput(const TorchValue& value);
  static bool isLike(const Input& input, const TorchValue& value);
  bool makeOutputs(std::span<const StrideOfOne> ones);
  TorchShim::Handle makeOutput(size_t i, std::span<const StrideOfOne> ones) const;
  void drop();

  const Torch& torch_;
  std::unique_ptr<FusionExecutorCache::RepeatedLaunch> launch_;
  std::vector<Input> inputs_;
  bool on_cuda_ = false;
  bool others_run_ = false;  ///< meanwhile: it takes longer than to hand the lock over
  // Of a call.
  std::vector<LentWord> words_;
  std::vector<TorchShim::Handle> made_;
  std::vector<void*> addresses_;
};

}  // namespace nvfuser::python
