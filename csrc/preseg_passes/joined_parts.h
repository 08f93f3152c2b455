/// What a concatenation joins, read back from its pads.
#pragma once

#include <optional>
#include <vector>

#include <ir/internal_nodes.h>

namespace nvfuser::preseg_passes {

/// The tensors whose padded forms `cat` reads, if each follows the one before without a gap and
/// nothing but the joined axis is padded, as `cat` of ops/ makes it.
std::optional<std::vector<TensorView*>> joinedParts(const CatOp* cat);

}  // namespace nvfuser::preseg_passes
