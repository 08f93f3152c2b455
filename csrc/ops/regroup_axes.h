/// A reshape's plan (reshape_plan.h) carried out: the axes of each group are merged and split.
///
///   T0[a, b, d] → T1[c, e, d]     {a, b | c, e}: a·b, split by e; {d | d}: as it is
///
/// A group that keeps its axis keeps what it is, a broadcast or not.
#pragma once

#include <vector>

#include <ops/reshape_plan.h>

namespace nvfuser::ops {

/// `x` with the groups applied; the result has exactly the axes of `to`. `from`: sizes of the axes
/// of `x`, where they are constants or given as such, else the axes' extents.
TensorView* regroup(TensorView* x, const std::vector<AxisGroup>& groups,
                    const std::vector<Val*>& from, const std::vector<Val*>& to);

}  // namespace nvfuser::ops
