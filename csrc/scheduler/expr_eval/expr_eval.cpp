#include <scheduler/expr_eval/expr_eval.h>

#include <ir/external_ops.h>

namespace nvfuser {

namespace {

/// The only operation, if it is a library's; else null.
const Expr* onlyOperation(const Fusion& fusion) {
  const Expr* only = nullptr;
  for (const Expr* expr : fusion.exprs()) {
    if (!expr->output(0)->isA<TensorView>()) {
      continue;
    }
    if (only != nullptr) {
      return nullptr;
    }
    only = expr;
  }
  return only != nullptr && isExternalOp(only) ? only : nullptr;
}

class ExprEvalScheduler : public SchedulerEntry {
 public:
  SchedulerType type() const override { return SchedulerType::ExprEval; }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    if (onlyOperation(fusion) == nullptr) {
      return Refusal{"it is not one operation of a library"};
    }
    return std::nullopt;
  }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo&) const override {
    auto params = std::make_unique<ExprEvalParams>();
    params->operation = onlyOperation(fusion)->getOpString();
    return params;
  }

  void schedule(Fusion*, const HeuristicParams&) const override {}
};

}  // namespace

const SchedulerEntry& exprEvalScheduler() {
  static const ExprEvalScheduler scheduler;
  return scheduler;
}

}  // namespace nvfuser
