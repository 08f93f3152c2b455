/// A call on tensors of PyTorch that was made before, known in full: the same call again is a look
/// at each input, memory for the outputs, and a launch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "torch_table.h"
#include <nanobind/nanobind.h>
#include <runtime/repeated_launch.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// One thread at a time may use it; the executor has to outlive it. The interpreter's lock is held.
class TorchKnownCall {
 public:
  /// Null where such a call is more than a launch, where an input is neither a plain tensor nor a
  /// plain number, and where outputs are blocks that the library keeps better.
  static std::unique_ptr<TorchKnownCall> make(FusionExecutorCache& executor, const Torch& torch,
                                              std::span<PyObject* const> inputs);

  /// The outputs' list, where the call is like this one; else an invalid object, and nothing was
  /// done. Alike are calls with the same integers, and tensors with the same dtypes, devices,
  /// sizes, strides and dispatch keys, and with as aligned addresses. `inputs` must stay alive:
  /// other threads may run meanwhile.
  nb::object run(std::span<PyObject* const> inputs);

 private:
  enum class Kind : uint8_t { Tensor, Double, Integer, Bool };
  struct Input {
    Kind kind = Kind::Tensor;
    int64_t integer = 0;
    // Of a tensor.
    uint64_t keys = 0;
    int32_t dtype = 0;  ///< PyTorch's number
    bool is_empty = false;
    std::vector<int64_t> sizes, strides;
  };
  struct Outputs;

  explicit TorchKnownCall(const Torch& torch) : torch_(torch) {}
  bool setOutputs();
  void addInput(PyObject* input);
  bool read(const Input& input, PyObject* given, LentWord& word) const;
  bool readTensor(const Input& input, PyObject* given, LentWord& word) const;

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
