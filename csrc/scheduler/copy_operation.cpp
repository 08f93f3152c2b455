#include <scheduler/copy_operation.h>

#include <ir/builder.h>
#include <ir/expr_visit.h>

namespace nvfuser {

Expr* copyOperation(const Expr* expr, std::vector<Val*> inputs, std::vector<Val*> outputs) {
  return visitExpr(expr, [&](const auto& op) -> Expr* {
    using Class = std::decay_t<decltype(op)>;
    return IrBuilder::createInContainer<Class>(
        expr->fusion(), Operands{std::move(inputs), std::move(outputs)}, op.fields());
  });
}

}  // namespace nvfuser
