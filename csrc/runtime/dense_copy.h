/// Tensors that have to lie dense for a library.
#pragma once

#include <runtime/run_context.h>
#include <runtime/tensor.h>

namespace nvfuser {

/// The tensor itself where it is row-major without gaps; else a copy of it that is, made by a
/// kernel of its device on the context's stream.
Tensor denseOnDevice(const Tensor& tensor, const RunContext& context);

}  // namespace nvfuser
