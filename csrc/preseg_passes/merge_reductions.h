/// Pass `merge-reductions`: a sum of sums is a sum over the axes of both, so is an extreme of
/// extremes.
///
///   T2[n] = reduction_add(T1[n, m] over m)           T5 = reduction_add(T1[n, m] over n, m)
///   T3[n] = T2 / 51.0                          →     T6 = T5 / 51.0
///   T4    = reduction_add(T3[n] over n)
///
/// Losses are sums along rows, then a mean of all: two kernels, of which the second waits for the
/// first to read a few numbers. What is between the two sums may scale by scalars; the total is
/// scaled instead.
///
/// Left alone: results in between that are outputs or read by others; what is made of a reduction
/// itself (the kernel of a normalised row has the row's sum beside it); operands that another
/// reduction reads, too, which stays as it is (one kernel has both now); axes that are kept between
/// reduced ones; all, where exact numerics give sums an order (ir/exact_numerics.h).
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void mergeReductions(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
