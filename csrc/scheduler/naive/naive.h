/// The schedule that always exists for one tensor computed by a tree of element-wise operations,
/// perhaps ending in a reduction: all axes that are no reduction merged, one thread for each
/// element, reductions serial.
///
///   T2[i0, i1, r2]   →   T2[blockIdx.x (i0·i1/128), threadIdx.x 128, r2]   producers inlined
#pragma once

#include <ir/interface_nodes.h>

namespace nvfuser {

/// Schedules the fusion whose only output (or outputs of one expression) is `reference`. False
/// where some producer could not be inlined all the way (x + transpose(x)): the tree has to be cut
/// there.
[[nodiscard]] bool scheduleNaive(TensorView* reference);

}  // namespace nvfuser
