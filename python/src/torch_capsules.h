/// PyTorch's tensors in DLPack's capsules: the way in and out before its exchange table (2.10).
#pragma once

#include "dlpack_capsules.h"
#include <nanobind/nanobind.h>
#include <runtime/tensor.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// Throws PyTorch's error for tensors that have no memory.
Taken takeFromTorch(nb::handle tensor);
nb::object giveToTorch(const Tensor& tensor);

}  // namespace nvfuser::python
