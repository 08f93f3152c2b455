/// Rewrites operators into parts of which some can be fused.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace nvfuser::torchscript {

/// - `aten::linear` with a bias: the product, then an addition, with
///   PYTORCH_NVFUSER_ENABLE=linear_decomposition; a bias that is optional may be None at any call
/// - convolutions with a bias: likewise, with PYTORCH_NVFUSER_ENABLE=conv_decomposition
/// - `aten::broadcast_tensors`, where a list goes in and comes out: `aten::expand` of each tensor
/// - `aten::_batch_norm_impl_index`, which autodiff makes: `aten::native_batch_norm`
void decompose(torch::jit::Graph& graph);

}  // namespace nvfuser::torchscript
