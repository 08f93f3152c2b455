/// Tests a condition once for all neighbours that depend on it.
///
/// What: statements in a row whose conditions are equal, or one a part of the other, share an `if`;
/// on a GPU the `if` is put around a loop that does not change its condition, too.
///
///   if (n < i0)
///     T1[0..4) = T0[n..n+4)
///   for k in 0..4 unrolled
///     if (n < i0)
///       T2[k] = exp(T1[k])
///   if (n < i0 && threadIdx.x < 1)
///     T3[n..n+4) = T2[0..4)
///
/// becomes
///
///   if (n < i0)
///     T1[0..4) = T0[n..n+4)
///     for k in 0..4 unrolled
///       T2[k] = exp(T1[k])
///     if (threadIdx.x < 1)
///       T3[n..n+4) = T2[0..4)
///
/// Why: a value that is loaded under one condition and used under another is one of two to the
/// compiler (loaded, or none), which keeps it from loading everything before it waits for anything,
/// and costs instructions where both come together.
///
/// Why here: all statements are there, and no expression has a name yet, so equal conditions are
/// the same object.
///
/// What it does not do: conditions with an `else`; statements that exchange data between threads
/// stay where they are, and nothing moves across them. Loops of the CPU keep their conditions:
/// they become masks of vectors.
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser {

void shareConditions(kir::Kernel& kernel, bool around_loops);

}  // namespace nvfuser
