#include <scheduler/copy_operation.h>

#include <ir/builder.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

Expr* copyOperation(const Expr* expr, std::vector<Val*> inputs, std::vector<Val*> outputs) {
  ExprFields fields{std::move(inputs), std::move(outputs), expr->attributes()};
  Fusion* fusion = expr->fusion();
  switch (expr->kind()) {
#define X(Class)        \
  case ExprKind::Class: \
    return IrBuilder::createInContainer<Class>(fusion, std::move(fields));
#include <ir/expr_kinds.def>
#undef X
  }
  return nullptr;
}

}  // namespace nvfuser
