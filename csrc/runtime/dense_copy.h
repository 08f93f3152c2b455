/// Tensors that have to lie dense for a library.
#pragma once

#include <runtime/run_context.h>
#include <runtime/tensor.h>

namespace nvfuser {

/// The tensor itself where it is row-major without gaps; else a copy of it that is, made by a
/// kernel of its device on the context's stream.
Tensor denseOnDevice(const Tensor& tensor, const RunContext& context);

/// The tensor's elements with these strides, which leave no gaps: itself, turned, if it lies so.
Tensor denseInOrder(const Tensor& tensor, const std::vector<int64_t>& strides,
                    const RunContext& context);

/// The same in memory of its own.
Tensor copyInOrder(const Tensor& tensor, const std::vector<int64_t>& strides,
                   const RunContext& context);

}  // namespace nvfuser
