/// One transform between axes, in whichever direction what is known of its axes leads: split
/// backward o·f + n, forward (div, mod); merge forward a·|b| + b, backward (div, mod); resize by
/// its offset; swizzles and their inverses.
#pragma once

#include <functional>

#include <iteration_space/symbols.h>

namespace nvfuser {

/// An axis's index, or null.
using IndexOf = std::function<kir::Scalar(const IterDomain*)>;
/// Called for each axis whose index follows.
using SetIndex = std::function<void(const IterDomain*, kir::Scalar)>;

void followTransform(const Expr* expr, Symbols& symbols, const IndexOf& get, const SetIndex& set);

}  // namespace nvfuser
