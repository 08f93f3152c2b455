/// Pass `own-spreads`: positions and parts of inputs that are spread along several axes are read
/// for each of them.
///
///   T1[n]    = select(T0[n, 3], 0)             T1[n]    = select(T0, 0)
///   T2[n, b] = broadcast(T1)                   T2[n, b] = broadcast(T1)
///   T3[b, n] = broadcast(T1)             →     T5[n]    = select(T0, 0)
///   T4[n, n] = T2 - T3                         T3[b, n] = broadcast(T5)
///                                              T4[n, n] = T2 - T3
///
/// A loop is over one of the two axes, so a kernel cannot have T1 at both elements, and another one
/// would have to store it. To read it twice costs nothing but an index. (`iota` likewise, and what
/// is made of either by a cast or a step with a number.)
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void readEachSpread(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
