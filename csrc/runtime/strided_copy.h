/// Copies between tensors of one GPU whose elements lie otherwise, by a kernel of its library
/// (runtime/copy_strided.cuh). To dense memory of their own dense_copy.h copies them, in vectors.
#pragma once

#include <runtime/device.h>
#include <runtime/tensor.h>

namespace nvfuser {

/// Puts a copy of `from`'s elements to `to`, of its sizes and dtype, on the stream. False where
/// there is no such kernel: for the CPU, devices that take no text or have no compiler, and more
/// than eight axes that cannot be merged.
bool copyStridedOnDevice(const Tensor& from, const Tensor& to, Stream stream);

}  // namespace nvfuser
