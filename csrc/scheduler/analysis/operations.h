/// Which operations loops over elements cannot carry out.
#pragma once

#include <optional>

#include <scheduler/registry.h>

namespace nvfuser {

/// Why a fusion is more than operations that compute an element at a time: reductions, what
/// `is_of_library` says of, and axes of parts of a number. None: it is not.
std::optional<Refusal> refusesOperations(const Fusion& fusion, bool (*is_of_library)(const Expr*));

}  // namespace nvfuser
