/// Pass `short-axes`: what is summed over an axis of two to four elements (up to eight that are
/// joined) is taken apart along it, and so is what is summed over other axes and keeps such an axis
/// innermost. Of what is joined along it, each part is the operand that has it.
///
///   T3[n, m, 3] = T1[b, m, 3] - T2[n, b, 3]          T3[n, m] = T0[b, m, 0] - T0[n, b, 0]
///   T4[n, m, 3] = T3 * T3                       →    …
///   T5[n, m]    = reduction_add(T4 over 3)           T5[n, m] = T3 * T3 + T6 * T6 + T9 * T9
///
/// Points, boxes, colours: a loop of three elements is no loop for vectors or for threads, while
/// those of the other axes are. The three parts are pointwise, so what is around them is one kernel
/// with them, and loops go along the long axes. So are scans along such an axis of what is
/// computed, and its elements in another order that is known: parts that are joined, of which
/// readers of one place have one.
///
///   T2[n, 3] = scan_mul(T1[n, 3])           T2[n, 3] = cat(T1[n, 0], T1[n, 0] * T1[n, 1], …)
///   T4[n, 3] = gather(T2, 2 - iota)    →    T4[n, 3] = cat(T1[n, 0] * T1[n, 1] * T1[n, 2], …)
///
/// Pass `short-planes`, for GPUs: planes of an input, whose elements along the short axis lie far
/// from each other, are such parts, too. (On the CPU, loops over the short axis are faster.)
///
/// Left alone: reductions of inputs along the axis that lies innermost (a kernel reads them once as
/// they lie), those of what is made of such a one, as the sum of a softmax is of its maximum, and
/// those of what is computed by more than pointwise operations; half precision, which a
/// reduction keeps in float meanwhile; of sums over other axes those whose operand is read whole
/// from memory; all, where exact numerics give reductions an order (ir/exact_numerics.h).
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void takeShortAxesApart(Fusion& fusion);
void takeShortPlanesApart(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
