/// The output of an operation that makes a tensor from its sizes.
#pragma once

#include <string_view>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser::ops {

/// A new tensor; a constant size 1 is a broadcast axis. `UserError` (naming `op`) for sizes that
/// are no integers or negative constants.
TensorView* tensorOfShape(std::string_view op, const std::vector<Val*>& shape, DataType dtype);

}  // namespace nvfuser::ops
