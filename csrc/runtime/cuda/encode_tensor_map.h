/// Descriptors of tensors for the copy engine of sm_90 and later.
#pragma once

#include <runtime/cuda/driver.h>
#include <runtime/tensor_map.h>

namespace nvfuser::cuda {

/// Has the driver write `map.descriptor`; false where it does not take the tensor.
bool encodeTensorMap(const Driver& driver, TensorMapArgument& map);

}  // namespace nvfuser::cuda
