/// Whether results of a Fusion may hang on nothing but the elements that they are made of
/// (NVFUSER_ENABLE=exact_numerics, docs/numerics.md): travels with the Fusion, as planning and
/// lowering both have to know.
#pragma once

#include <ir/fusion.h>

namespace nvfuser {

void computeExactly(Fusion& fusion);
bool isComputedExactly(const Fusion& fusion);

/// Whether the order of operands shows in a reduction's result: sums and products of floating
/// point, and moments. Computed exactly, such operands are combined one by one in the order of the
/// reduced axes, Float in Double.
bool hangsOnOrder(const Expr* reduction);
/// Whether a fusion is computed exactly, and has such a reduction.
bool reducesInOrder(const Fusion& fusion);

}  // namespace nvfuser
