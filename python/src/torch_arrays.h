/// Tensors of PyTorch: read, made of outputs, and the stream and memory of a call.
#pragma once

#include <string>

#include "torch_table.h"
#include <nanobind/nanobind.h>
#include <runtime/run_context.h>
#include <runtime/tensor.h>

namespace nvfuser::python {

namespace nb = nanobind;

bool isTorchTensor(const Torch& torch, nb::handle object);

/// The memory of the input at `position`; it is lent as long as the object lives. Throws
/// `UserError` for tensors that have none (fake, sparse, meta). A lazily conjugated or negated
/// view is resolved into `copy`, which then has the memory.
Tensor readTorch(const Torch& torch, nb::handle input, size_t position, nb::object& copy);
/// Whether the memory holds other numbers than the tensor means; DLPack does not tell.
bool needsResolving(const Torch& torch, nb::handle input, DLDataType dtype);
/// `tensor`, which shares the memory of `input`, as one that keeps it.
Tensor keepTorch(const Torch& torch, nb::handle input, const Tensor& tensor);
nb::object makeTorch(const Torch& torch, Tensor output);

/// A Python error as text; PyTorch's go on with the calls that led there, which are left out.
std::string textOf(const nb::python_error& error);

/// PyTorch's current stream on a CUDA device; null for the default one. With or without the
/// interpreter's lock.
Stream currentStream(const Torch& torch, int index);

}  // namespace nvfuser::python
