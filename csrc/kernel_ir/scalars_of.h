/// Every index expression of a statement, in one place: what renames, hoists or collects symbols
/// goes through here.
#pragma once

#include <functional>

#include <kernel_ir/kernel.h>

namespace nvfuser::kir {

/// Replaces each expression of `stmt` itself (not of statements nested in it) by `map` of it; null
/// ones are left out.
void mapScalars(Stmt& stmt, const std::function<Scalar(Scalar)>& map);

/// The expressions of `stmt` itself.
void forEachScalar(const Stmt& stmt, const std::function<void(Scalar)>& visit);

/// The symbol that a statement defines for those after it (a loop: for those inside); null for
/// none.
Scalar definedBy(const Stmt& stmt);

}  // namespace nvfuser::kir
