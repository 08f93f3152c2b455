/// Which loops of few iterations are written out one after the other on a GPU, unasked.
///
///   for k in 0..8                            8 x 4 vectors in flight do not fit into registers:
///     T1[0..16) = 4 vectors of T0            a loop
///     T2 = T2 + T1[…]
///
/// Written out, such a loop has constant indices, which arrays in registers need, and its loads can
/// be in flight together. Where the schedule has unrolled a loop inside already, copies of all of
/// it want more registers than a thread has, and each that is missing goes to memory and back.
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser {

/// For a loop of constant extent, with its body as it was built.
bool wantsCopies(const kir::For& loop);

}  // namespace nvfuser
