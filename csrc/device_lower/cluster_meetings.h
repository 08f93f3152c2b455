/// Where the blocks of a cluster meet before they exchange states.
///
/// What: a cluster reduction writes to the shared memory of other blocks. These must have started,
/// and must have read what an earlier reduction left there. A block arrives at its kernel's
/// beginning, and the first reduction waits for the others, which costs nothing behind loads. The
/// reductions that follow have workspaces of their own, and need not meet again.
///
/// Why not always: in a loop a workspace is used again, and under a condition nobody knows which
/// reduction is the first. There each reduction meets, as it was built.
///
///                                          sync cluster arrive
///   T1 = T0                                T1 = T0
///   (T2) = cluster reduce add in work2  →  (T2) = cluster reduce add in work2, arrived before
///   T3 = T1 - T2                           T3 = T1 - T2
///   (T4) = cluster reduce add in work4     (T4) = cluster reduce add in work4, met before
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser {

void placeClusterMeetings(kir::Kernel& kernel);

}  // namespace nvfuser
