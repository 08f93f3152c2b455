/// How many elements a thread of a GPU should take at a time, so that neighbouring threads access
/// neighbouring bytes.
///
///   T2 (bf16) = T0 (bf16), T3 (bool, written) = …     8: a thread writes 16 bytes of T2 and 8 of
///   T3;
///                                                     with 16 each write of T2 would leave gaps
#pragma once

#include <cstdint>
#include <vector>

#include <scheduler/runtime_info.h>

namespace nvfuser {

/// Of tensors that kernels access in vectors. Where a thread has several accesses side by side,
/// each of a warp's leaves gaps: writes cross to the next cache as so many more pieces, while of
/// what was read for the first access the others find theirs in the cache. So large outputs are
/// written by one access, and large inputs are read by two. At least 1.
int64_t elementsOfAccesses(const std::vector<TensorView*>& tensors, SchedulerRuntimeInfo& info);

}  // namespace nvfuser
