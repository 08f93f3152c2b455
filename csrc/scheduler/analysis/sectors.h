/// The sectors of memory that a GPU moves for neighbouring elements of a loop nest.
///
///   T0[i, j] read by 32 neighbours along j      4 sectors, of 32 float32 elements
///   T0[j, i] read by the same                   32 sectors
///   T0[j, i] read by 32 along j, 8 along i      32 sectors, for 256 elements
#pragma once

#include <vector>

#include <scheduler/analysis/reference_axes.h>

namespace nvfuser {

constexpr int64_t kSectorBytes = 32;  ///< that a GPU moves at least

struct Sectors {
  int64_t sectors = 0;
  int64_t places = 0;  ///< elements, each once; fewer than loops where a tensor lacks an axis
};

/// What `rows` times `columns` neighbours move of a tensor, the reference's axes in this order:
/// columns go on to the next of the outer axes, rows begin along the second from the innermost on.
/// Along an axis that data decide the place is that of the first element.
Sectors sectorsOf(const ReferenceAxes& axes, const TensorView* tv,
                  const std::vector<int64_t>& order, int64_t rows, int64_t columns,
                  SchedulerRuntimeInfo& info);

}  // namespace nvfuser
