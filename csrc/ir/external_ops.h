/// Operations that belong to a library: evaluated between kernels, never part of one.
#pragma once

#include <ir/internal_nodes.h>

namespace nvfuser {

/// What external/ runs, one operation a call.
inline bool isExternalOp(const Expr* expr) {
  return expr->isOneOf<MatmulOp, LinearOp, ScanOp, ArgsortOp, TopKOp, ScatterOp>();
}

}  // namespace nvfuser
