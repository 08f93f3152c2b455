/// Do the domains of each tensor hold together? Throws `UserError` where they do not.
///
/// What: loop and allocation domain are made of all logical axes, and have both parts of each
/// split; the one axis of a vector is innermost and no reduction; axes padded to warps are threads.
///
///   T1 logical (i0, i1), loop (i0o, i1)        the schedule left out i0i, the other part of a
///   split
///
/// Why here: it needs no loops, so it comes before all that takes domains for complete. Which loops
/// tensors share, and which threads see a value, is for iteration_space/refused_loops.h.
#pragma once

#include <ir/fusion.h>

namespace nvfuser {

void validateDomains(const Fusion& fusion);

}  // namespace nvfuser
