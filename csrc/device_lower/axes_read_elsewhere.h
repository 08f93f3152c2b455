/// Which axes of a tensor a statement reads elsewhere than its own loops are.
#pragma once

#include <unordered_set>

#include <device_lower/loop_tree.h>

namespace nvfuser {

/// Axes of `tv` that `reader` reads at an index which data or a constant give (gather, select),
/// wherever its own loops are.
std::unordered_set<const Val*> axesReadElsewhere(const Leaf& reader, const TensorView* tv);

/// Whether one of `axes` is a part of `id`, or what it was made from.
bool isMadeOf(const IterDomain* id, const std::unordered_set<const Val*>& axes);

}  // namespace nvfuser
