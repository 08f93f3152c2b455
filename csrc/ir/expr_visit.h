/// An expression as its own class, so that what is written once is done for all kinds.
#pragma once

#include <ir/composite_nodes.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

/// `visit(expr as its class)`.
template <typename Visit>
decltype(auto) visitExpr(const Expr* expr, Visit&& visit) {
  switch (expr->kind()) {
#define X(Class)        \
  case ExprKind::Class: \
    return visit(*static_cast<const Class*>(expr));
#include <ir/expr_kinds.def>
#undef X
  }
  throw InternalError("an expression of an unknown kind");
}

/// `visit(field, its value)` for each field of an expression.
template <typename Visit>
void forEachFieldOf(const Expr* expr, Visit&& visit) {
  visitExpr(expr, [&](const auto& op) {
    forEachField<std::decay_t<decltype(op.fields())>>(
        [&](const auto& field) { visit(field, op.fields().*(field.member)); });
  });
}

}  // namespace nvfuser
