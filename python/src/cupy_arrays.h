/// CuPy: its current stream, its pool of memory, and arrays of that.
#pragma once

#include <memory>

#include <nanobind/nanobind.h>
#include <runtime/run_context.h>
#include <runtime/tensor.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// The stream that CuPy's own work of this thread goes to, and its memory pool.
RunContext cupyContext();
/// An array of CuPy's memory where the output lies in such; null otherwise.
nb::object makeCupy(const Tensor& output);

}  // namespace nvfuser::python
