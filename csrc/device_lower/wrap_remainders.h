/// Divides once for a loop instead of once an iteration, where neighbours rarely pass the end of an
/// axis.
///
/// What: in an unrolled loop over k, a quotient and a remainder by an extent,
///
///   for k in 0..8 unrolled
///     T2[k] = T1[(n + k) % i2]            // n does not depend on k
///
/// become
///
///   for k in 0..8 unrolled
///     T2[k] = T1[n % i2 + k < i2 ? n % i2 + k : (n % i2 + k) % i2]
///
/// and (n + k) / i2 is n / i2 + (n % i2 + k < i2 ? 0 : (n % i2 + k) / i2). What does not depend on
/// k gets a name in front of the loop (hoist_indices.h), so only the neighbours that pass the end
/// still divide.
///
/// Why: a division of integers is some twenty instructions. Rows of an odd length are one run of
/// memory that vectors go along (scheduler/pointwise), and what is broadcast along them, a bias, is
/// read at a remainder: bias + gelu of 8191 columns in bf16, changed so by hand, went from 0.45 to
/// 0.61 of copy (docs/performance.md).
///
/// Why here: indices are final and have no names yet.
///
/// What it does not do: divisions by constants, which compilers make cheap; sums in which the loop
/// is more than a multiple of k.
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser {

void wrapRemainders(kir::Kernel& kernel);

}  // namespace nvfuser
