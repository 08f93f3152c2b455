/// Whether a Fusion's form suits the loops of a reduction: tried on a copy.
#pragma once

#include <scheduler/reduction/problem.h>

namespace nvfuser::reduction {

std::optional<Refusal> tryForm(const Fusion& fusion, const Form& form, SchedulerType type);
/// The same of the reference's axes in another order, of which the last ones lie together.
std::optional<Refusal> tryLoops(const Fusion& fusion, const Form& form, SchedulerType type,
                                const std::vector<int64_t>& order, bool fastest_dim,
                                int64_t inner_axes);

}  // namespace nvfuser::reduction
