/// Results of which there is one a row, computed apart from the row that reads the same numbers.
///
///   T2[i0, r1] = max(T0)                 T2[i0, r1] = max(T0)
///   T3[i0, b2] = broadcast(T2)           T3[i0, b2] = broadcast(T2)
///   T4[i0, b3] = set(T3)     output      T6[i0, b4] = broadcast(T2)
///   T5[i0, i1] = T0 - T3         →       T4[i0, b3] = set(T6)          output
///                                        T5[i0, i1] = T0 - T3
///
/// T3 is computed in the loop over the row's elements, where T5 reads it, and a tensor is computed
/// in one place: T4 would be stored there for each element, which also leaves the CPU's loop
/// without SIMD lanes. T6 has nothing to do with that loop; it is computed when T2 is complete.
///
/// A result behind others of one value a row (casts, rsqrt(T3 + eps), a copy of an input) has the
/// whole chain copied, back to a reduction, an input, or what the row's loops do not read: each
/// tensor once for all its readers. Chains with something that cannot be computed again
/// (`canRecompute`) are left as they are, and no reduction is done twice.
#pragma once

#include <ir/fusion.h>

namespace nvfuser {

/// For a Fusion whose rows have one signature; behind `cacheAndForkOutputs`, so that no output is
/// read, and before anything is scheduled.
void computeStatisticsApart(Fusion* fusion);

}  // namespace nvfuser
