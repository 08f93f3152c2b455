/// Inputs and outputs of the Fusion that is being defined, and results compared bit by bit.
#pragma once

#include <cstring>
#include <vector>

#include <fusion.h>
#include <ops/all_ops.h>
#include <runtime/tensor.h>

namespace nvfuser {

/// A dense input of these sizes.
inline TensorView* input(const std::vector<int64_t>& shape, DataType dtype = DataType::Float) {
  TensorView* tv = makeContigConcreteTensor(shape, dtype);
  FusionGuard::getCurFusion()->addInput(tv);
  return tv;
}

inline void output(TensorView* tv) { FusionGuard::getCurFusion()->addOutput(tv); }

inline bool sameBytes(const Tensor& a, const Tensor& b) {
  const HostTensor x = a.toHostTensor();
  const HostTensor y = b.toHostTensor();
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
         (x.numel() == 0 || std::memcmp(x.data(), y.data(), x.sizeBytes()) == 0);
}

}  // namespace nvfuser
