/// Pass `share-moments`: a mean beside a variance of the same tensor is the one that comes with it.
///
///   T1 = reduction_add(T0)
///   T2 = T1 / 4096.0                   T3 (mean), T4, T5 = welford(T0)
///   T3 (mean), T4, T5 = welford(T0)    T6 = T0 - T3
///   T6 = T0 - T2                  →
///
/// `(x - x.mean()) / x.std()` as users write it: blocks that share a row meet once, not twice.
///
/// Left alone: sums that others read, too, but for what divides them by the count; counts that are
/// not known to be that of the variance; all, where exact numerics give sums an order
/// (ir/exact_numerics.h).
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void shareMoments(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
