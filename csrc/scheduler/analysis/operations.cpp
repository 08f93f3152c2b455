#include <scheduler/analysis/operations.h>

#include <ir/internal_nodes.h>

namespace nvfuser {

std::optional<Refusal> refusesOperations(const Fusion& fusion, bool (*is_of_library)(const Expr*)) {
  for (const Expr* expr : fusion.exprs()) {
    if (isReduction(expr)) {
      return Refusal{text(expr->output(0), " is reduced")};
    }
    if (is_of_library(expr)) {
      return Refusal{text(expr->output(0), " is the result of ", expr->getOpString(),
                          ", which has no kernel")};
    }
  }
  for (const TensorView* tv : fusion.allTvs()) {
    for (const IterDomain* id : tv->getLogicalDomain()) {
      if (id->isVectorComponent()) {
        return Refusal{text(tv, " has an axis of parts of a number, which one thread computes")};
      }
    }
  }
  return std::nullopt;
}

}  // namespace nvfuser
