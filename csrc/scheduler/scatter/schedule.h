/// How a scatter's loop nests are made (scatter.h).
#pragma once

#include <scheduler/scatter/scatter.h>

namespace nvfuser::scatters {

/// Elements of a vector loop in front of writes that go one by one.
inline constexpr int64_t kPoints = 128;

void schedule(Fusion* fusion, const ScatterParams& params);

/// The same for the blocks and threads of a GPU; called by it.
void scheduleThreads(Fusion* fusion, const ScatterParams& params);

/// Why the loops of a scheduled fusion do not compute it; none: they do. `most`: elements of a
/// tensor that are computed in a loop of their own.
std::optional<Refusal> refusesLoops(const Fusion& scheduled, int64_t most);

}  // namespace nvfuser::scatters
