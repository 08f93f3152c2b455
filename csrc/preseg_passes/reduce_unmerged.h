/// Pass `reduce-unmerged`: what is reduced over axes that a reshape has made is reduced over those
/// that it has made them of.
///
///   T1[4096, 768] = reshape(T0[8, 512, 768])
///   T2[768] = reduction_add(T1 over 4096)      →    T3[768] = reduction_add(T0 over 8, 512)
///
/// The gradient of a bias is a sum over a batch's rows as a library's product has them; a norm's
/// gradients beside it are sums over the batch's own axes. Over the same axes they are one kernel.
/// (Not on a CPU, which has no such kernels, and whose loops are longer over merged axes.)
///
/// Left alone: a reshape of which an axis is kept that it has made; one whose elements go on to
/// something else than reductions; and all, where exact numerics give sums an order
/// (ir/exact_numerics.h).
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void reduceUnmerged(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
