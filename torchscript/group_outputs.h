/// What a group returns.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace nvfuser::torchscript {

/// A group returns no views: where it would, it returns what the view is of, and the view is taken
/// again behind it (or before it, of an input). So views share memory as the program means, and
/// updates in place through them are seen.
void returnNoViews(torch::jit::Node* group);

/// A result of which only the sizes are asked for is not returned: where it comes from pointwise
/// operations, its sizes are computed from those of the group's inputs.
void returnNothingForSizes(torch::jit::Node* group);

}  // namespace nvfuser::torchscript
