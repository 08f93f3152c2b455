/// How a scatter's parameters are chosen (scatter.h).
#pragma once

#include <scheduler/runtime_info.h>
#include <scheduler/scatter/scatter.h>

namespace nvfuser {
class ScatterOp;
}

namespace nvfuser::scatters {

/// Blocks, threads and vectors of a GPU.
std::unique_ptr<ScatterParams> planThreads(const Fusion& fusion, const ScatterOp* op,
                                           SchedulerRuntimeInfo& info);

}  // namespace nvfuser::scatters
