/// Blocks of a GPU with several rows, where tensors are read across the rows.
///
///   T2[i, j] = T0[i, j] + gather(T1[j, ...], index[j, i])
///
/// A block of one row moves a sector of memory for each element of `index` and T1; one of 32
/// columns and 16 rows finds the sector of one row in its first cache for the next ones.
#pragma once

#include <vector>

#include <scheduler/analysis/reference_axes.h>
#include <scheduler/pointwise/pointwise.h>

namespace nvfuser::pointwise {

/// Columns of such a block.
constexpr int64_t kBlockColumns = 32;

/// How many rows (of the second axis of `params.order`, from the innermost on) a block takes, 1
/// where no fewer sectors are moved so. `tensors`: what the first nest reads and writes.
int64_t rowsOfBlock(const ReferenceAxes& axes, const std::vector<TensorView*>& tensors,
                    SchedulerRuntimeInfo& info, const PointwiseParams& params);

}  // namespace nvfuser::pointwise
