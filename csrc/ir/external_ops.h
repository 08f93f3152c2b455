/// Operations that belong to a library: evaluated between kernels, never part of one.
#pragma once

#include <ir/composite_nodes.h>

namespace nvfuser {

/// What external/ runs, one operation a call.
inline bool isExternalOp(const Expr* expr) {
  return expr->isOneOf<MatmulOp, LinearOp, ScanOp, ArgsortOp, TopKOp, ScatterOp, SdpaFwdOp,
                       SdpaBwdOp, ScaledMmaOp, GroupedMmaOp, CommunicationOp>();
}

/// What may end a product of matrices, as a library does it (scheduler/expr_eval/epilogue.h says
/// when).
enum class Epilogue : uint8_t { None, Relu, TanhGelu };

}  // namespace nvfuser
