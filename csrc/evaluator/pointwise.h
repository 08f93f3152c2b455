/// Pointwise operations on scalars, for the evaluator of scalar expressions.
#pragma once

#include <vector>

#include <ir/base_nodes.h>

namespace nvfuser::reference {

/// The result of a UnaryOp, BinaryOp, TernaryOp or LoadStoreOp of scalars, as the operation table
/// defines it; empty for other kinds of expression.
PolymorphicValue applyToScalars(const Expr* expr, const std::vector<PolymorphicValue>& operands);

}  // namespace nvfuser::reference
