/// Why a scalar has no value although all that it is made of has one: something is divided by zero.
#pragma once

#include <string_view>

#include <ir/base_nodes.h>

namespace nvfuser {

class ExpressionEvaluator;

/// Throws `UserError`, "<what> is divided by zero: …", if an operand of a division in `val`'s
/// definition, at any depth, is 0.
void requireDivisors(const Val* val, ExpressionEvaluator& evaluator, std::string_view what);

}  // namespace nvfuser
