/// Reductions over one set of axes, with what is computed element by element before and behind
/// them.
///
///   T3[i0] = exp(sum(x · y, {1})),  T4[i0, i1] = x · y          one pass over x and y
///
/// It takes fusions whose reductions have one signature and where nothing that has been read is
/// needed again behind a reduction (that is for the persistent schedulers). Inner, outer and 3-D
/// reductions; a block, several rows a block or several blocks a row.
#pragma once

#include <scheduler/registry.h>

namespace nvfuser {

const SchedulerEntry& reductionScheduler();

}  // namespace nvfuser
