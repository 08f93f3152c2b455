/// Pass `join-sums`: sums that are added up are one sum of what is added up.
///
///   T2[m] = reduction_add(T0[n, m] over n)           T5[n, m] = T0 + T1
///   T3[m] = reduction_add(T1[n, m] over n)     →     T4[m] = reduction_add(T5 over n)
///   T4[m] = T2 + T3
///
/// A parameter that is used at each step of a recurrence, or at several places of one formula, has
/// a gradient that is the total of as many sums: a kernel would carry as many accumulators.
///
/// What: additions, subtractions and negations whose results are read once, of sums that are read
/// once, over the same axes; the order of what is added stays.
///
/// Left alone: half precision; sums whose operands no kernel could have together: those that no
/// element-wise operations connect, or that have a product or another sum on a way from one to the
/// other; all, where exact numerics give sums an order (ir/exact_numerics.h).
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void joinSums(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
