/// Places of shared-memory buffers: one after the other, 16-byte aligned, and at the same place
/// where one is no longer used when the next one is first written.
///
/// Time is counted in statements of the kernel's outermost block, so a loop is one moment. Between
/// the last use of one buffer and the first of the next a barrier of the block must lie. Where only
/// that is missing, and the earlier tensor asks for it (TensorView::promoteReuse), one is added.
///
///   T1_s: statements 0–2    barrier: 3    T4_s: statements 4–5     →   T1 and T4 at byte 0
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser {

/// Sets `shared_offset` of all shared buffers, and the kernel's `shared_bytes`.
void planSharedMemory(kir::Kernel& kernel);

}  // namespace nvfuser
