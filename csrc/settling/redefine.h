/// One operation defined again, with operands whose axes are settled.
///
///   before: T2[i0, i1] = T0[i0, i1] * T1[1, i1]     T1's first axis is iterated once
///   after:  T5[i0, i1] = T0[i0, i1] * T4[b1, i1]    T4, the settled T1, is stretched
#pragma once

#include <vector>

#include <ir/fusion.h>

namespace nvfuser::settling {

/// New results for `expr`, in the order of its outputs, of its operands as they are now. Sizes that
/// are the constants 0 and 1 are those of no and of one element. The results have the sizes of the
/// old ones, but where an operand is stretched that was not. Needs a `FusionGuard`.
std::vector<TensorView*> redefine(Expr* expr);

}  // namespace nvfuser::settling
