#include <scheduler/expr_eval/expr_eval.h>

#include <scheduler/expr_eval/epilogue.h>
#include <scheduler/scan/scan.h>

namespace nvfuser {

namespace {

/// The library's operation, if it is all there is, but for its epilogue: "linear + relu". Else
/// nothing.
std::optional<std::string> onlyOperation(const Fusion& fusion) {
  std::vector<Expr*> exprs;
  for (Expr* expr : fusion.exprs()) {
    if (expr->output(0)->isA<TensorView>()) {
      exprs.push_back(expr);
    }
  }
  if (exprs.size() == 1) {
    return isExternalOp(exprs[0]) ? std::optional(exprs[0]->getOpString()) : std::nullopt;
  }
  if (fusion.outputs().size() != 1 || !fusion.outputs()[0]->isA<TensorView>()) {
    return std::nullopt;
  }
  const auto found = productWithEpilogue(exprs, fusion.outputs()[0]->as<TensorView>());
  if (!found) {
    return std::nullopt;
  }
  static constexpr std::string_view kEnds[] = {"", " + relu", " + tanh_gelu"};
  return text(found->product->getOpString(), found->bias != nullptr ? " + bias" : "",
              kEnds[static_cast<size_t>(found->end)]);
}

class ExprEvalScheduler : public SchedulerEntry {
 public:
  SchedulerType type() const override { return SchedulerType::ExprEval; }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    if (!onlyOperation(fusion)) {
      return Refusal{"it is not one operation of a library"};
    }
    if (hasScans(fusion) && !scanScheduler().refusesForm(fusion)) {
      return Refusal{"a kernel scans it"};
    }
    return std::nullopt;
  }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo&) const override {
    auto params = std::make_unique<ExprEvalParams>();
    params->operation = *onlyOperation(fusion);
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
