/// What an execution gets from PyTorch: on a CUDA device its current stream and its memory, and the
/// generator's state where random numbers are drawn.
#pragma once

#include <c10/core/Device.h>
#include <capi/nvfuser_c.h>

namespace nvfuser::torchscript {

class RunContext {
 public:
  /// `draws`: offsets that the execution takes; the generator is then behind them.
  RunContext(c10::Device device, int64_t draws);

  const nvf_run_context* get() const { return &context_; }

 private:
  nvf_run_context context_ = {};
};

}  // namespace nvfuser::torchscript
