/// An operation that asks other devices for data, handed to the machine's communicator.
#pragma once

#include <external/external_call.h>

namespace nvfuser::external {

/// Row-major without gaps. Strides of axes of one element do not matter.
bool isDense(const TensorRef& tensor);

/// Tensors of a device have to be dense. Throws `UserError` where there is no communicator, or its
/// own device is not in the mesh.
void runCommunication(const Call& call);

}  // namespace nvfuser::external
