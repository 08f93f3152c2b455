/// The scheduler that takes any tree: element-wise operations, perhaps ending in a reduction, that
/// lead to the outputs of one expression. One thread for each output element, reductions serial.
///
///   T2[i0, i1, r2]   →   T2[blockIdx.x (i0·i1/128), threadIdx.x 128, r2]   producers inlined
///
/// It refuses where some producer cannot be computed on the spot (x + transpose(x)), and what lies
/// turned beside the rest of a reduction (scheduler/reduction/refuses_turned.h).
#pragma once

#include <scheduler/registry.h>

namespace nvfuser {

const SchedulerEntry& greedyScheduler();

}  // namespace nvfuser
