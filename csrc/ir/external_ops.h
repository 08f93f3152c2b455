/// Operations that a library has: evaluated between kernels.
#pragma once

#include <ir/composite_nodes.h>

namespace nvfuser {

/// What external/ runs, one operation a call.
inline bool isExternalOp(const Expr* expr) {
  return expr->isOneOf<MatmulOp, LinearOp, ScanOp, ArgsortOp, TopKOp, ScatterOp, SdpaFwdOp,
                       SdpaBwdOp, ScaledMmaOp, GroupedMmaOp, CommunicationOp>();
}

/// What no kernel computes.
inline bool hasNoKernel(const Expr* expr) { return isExternalOp(expr) && !expr->isA<ScanOp>(); }

/// What may end a product of matrices, as a library does it (scheduler/expr_eval/epilogue.h says
/// when).
enum class Epilogue : uint8_t { None, Relu, TanhGelu };

}  // namespace nvfuser
