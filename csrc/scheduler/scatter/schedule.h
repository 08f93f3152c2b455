/// How a scatter's loop nests are made (scatter.h).
#pragma once

#include <scheduler/scatter/scatter.h>

namespace nvfuser::scatters {

/// Elements of a vector loop in front of writes that go one by one.
inline constexpr int64_t kPoints = 128;

void schedule(Fusion* fusion, const ScatterParams& params);

/// Why the loops of a scheduled fusion do not compute it; none: they do.
std::optional<Refusal> refusesLoops(const Fusion& scheduled);

}  // namespace nvfuser::scatters
