/// Carries a plan of the pointwise scheduler out.
#pragma once

#include <scheduler/pointwise/pointwise.h>

namespace nvfuser::pointwise {

void schedule(Fusion* fusion, const PointwiseParams& params);

/// The output that has most axes which are no broadcasts, the first of several; −1 if there is
/// none.
int64_t referenceOutput(const Fusion& fusion);

}  // namespace nvfuser::pointwise
