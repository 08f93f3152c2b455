/// Operations whose result can be the same memory with other sizes, strides and offset.
#pragma once

#include <ir/internal_nodes.h>

namespace nvfuser {

/// permute, broadcast, squeeze, expand, reshape, slice, select: of a tensor whose strides allow it.
/// A plain `set` is a copy that the user asked for.
inline bool isViewOp(const Expr* expr) {
  if (expr->isA<LoadStoreOp>()) {
    return expr->output(0)->isA<TensorView>() && expr->output(0)->as<TensorView>()->hasRoot() &&
           expr->as<LoadStoreOp>()->opType() == LoadStoreOpType::Set;
  }
  return expr->isOneOf<BroadcastOp, SqueezeOp, ExpandOp, ReshapeOp, SliceOp, SelectOp>();
}

}  // namespace nvfuser
