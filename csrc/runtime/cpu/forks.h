/// What a process knows of the forks behind it: of its parent's threads only the one that forked
/// lives on.
#pragma once

#include <cstdint>

namespace nvfuser {

/// Forks between the process that loaded this library and this one. What was made under another
/// number has no threads any more, and locks that nobody may give back.
uint32_t forksSoFar();

/// Whether threads were lost in one of them. An OpenMP runtime does not notice: libgomp would wait
/// for its team forever.
bool lostThreadsInFork();

}  // namespace nvfuser
