/// An operation once more, on other operands.
#pragma once

#include <vector>

#include <ir/fusion.h>

namespace nvfuser {

/// The same kind of operation with the same attributes, in the same Fusion. Inputs and outputs take
/// the places of those of `expr`.
Expr* copyOperation(const Expr* expr, std::vector<Val*> inputs, std::vector<Val*> outputs);

}  // namespace nvfuser
