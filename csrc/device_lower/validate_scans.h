/// Is a scan one that a kernel can carry out? Its loops come to the elements in order, nothing
/// comes to them again in between, and threads that share an axis have their elements first. Throws
/// `UserError` where it is not. Called for each tensor by validate_schedule.h.
#pragma once

#include <iteration_space/loop_model.h>

namespace nvfuser {

void validateScan(const TensorView* tv, const IdGraph& exact, const LoopModel& loops,
                  Symbols& symbols);

}  // namespace nvfuser
