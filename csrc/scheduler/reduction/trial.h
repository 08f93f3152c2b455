/// Whether a Fusion's form suits the loops of a reduction: tried on a copy.
#pragma once

#include <scheduler/reduction/problem.h>

namespace nvfuser::reduction {

std::optional<Refusal> tryForm(const Fusion& fusion, const Form& form, SchedulerType type);

}  // namespace nvfuser::reduction
