/// Reductions in the one order of exact numerics (ir/exact_numerics.h): a task or a thread combines
/// the elements of a row, or of a column, one by one, as their axes are defined.
///
///   T1[i0, r1, r2] = sum(T0)     for i0 (tasks, threads): for i1: for i2: T1 = T1 + T0[i0, i1, i2]
///
/// The order hangs neither on how tensors lie in memory, nor on the other sizes, nor on the device.
#pragma once

#include <optional>

#include <scheduler/reduction/problem.h>

namespace nvfuser::reduction {

/// Why one loop nest cannot combine the operands of all reductions in their own order.
std::optional<Refusal> refusesInOrder(const Form& form);
/// Loops in that order; a refusal where a reshape of the reduced axes wants another one.
std::optional<Refusal> planInOrder(const Problem& problem, ReductionParams& params);

}  // namespace nvfuser::reduction
