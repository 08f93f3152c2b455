/// Several splits or merges of one tensor at a time, keeping track of positions.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser::scheduler_utils {

/// Splits each named axis (position, factor); positions are those before any split. `to_update`
/// holds other positions, which are moved along; a split axis in it becomes its outer part.
void splitDims(TensorView* tv, std::vector<std::pair<int64_t, int64_t>> to_split,
               std::vector<int64_t>& to_update);
inline void splitDims(TensorView* tv, std::vector<std::pair<int64_t, int64_t>> to_split) {
  std::vector<int64_t> unused;
  splitDims(tv, std::move(to_split), unused);
}

/// Merges the named axes, the outermost first, to one at the outermost's place. Its position, or
/// nothing without axes; positions in `to_update` are moved along.
std::optional<int64_t> mergeDims(TensorView* tv, std::vector<int64_t> to_merge,
                                 std::vector<int64_t>& to_update);
inline std::optional<int64_t> mergeDims(TensorView* tv, std::vector<int64_t> to_merge) {
  std::vector<int64_t> unused;
  return mergeDims(tv, std::move(to_merge), unused);
}

/// Reorders and merges the loop domain to [iterated, reduced] (3-D: [iterated, outer reduced, inner
/// reduced]); says which of iterated and reduced there is. Broadcast axes count as iterated.
std::pair<bool, bool> canonicalizeReduction(Fusion* fusion, TensorView* tv, bool schedule_3d);

}  // namespace nvfuser::scheduler_utils
