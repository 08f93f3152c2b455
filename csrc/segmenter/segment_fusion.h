/// Cuts a Fusion into groups, each of which some scheduler takes as one kernel.
///
/// The whole Fusion is tried first. Otherwise: trees of element-wise operations with at most one
/// reduction at their end (trees.h), and where even such a tree is refused its single operations.
#pragma once

#include <functional>
#include <vector>

#include <segmenter/group.h>

namespace nvfuser {

/// Whether a group can be one kernel.
using TakesGroup = std::function<bool(const Group&)>;

/// In an order in which they can run. Single operations are not asked about.
std::vector<Group> segmentFusion(const Fusion& fusion, const TakesGroup& takes);

}  // namespace nvfuser
