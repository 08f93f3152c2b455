/// prim::CudaFusionGuard: whether tensors are what a group was made for.
#pragma once

#include <torch/csrc/jit/runtime/operator.h>

namespace nvfuser::torchscript {

/// Dtype, device, rank, which axes have extent 1, memory order and contiguity, and whether
/// gradients are asked for have to be as profiled; other sizes may differ.
torch::jit::Operation makeGuard(const torch::jit::Node* node);

}  // namespace nvfuser::torchscript
