#include <scheduler/reduction/trial.h>

#include <algorithm>
#include <numeric>

#include <ir/external_ops.h>
#include <scheduler/reduction/schedule.h>

namespace nvfuser::reduction {

std::optional<Refusal> tryForm(const Fusion& fusion, const Form& form, SchedulerType type) {
  for (const Expr* expr : fusion.exprs()) {
    if (isExternalOp(expr)) {
      return Refusal{text(expr->output(0), " is the result of ", expr->getOpString(),
                          ", which has no kernel")};
    }
  }
  ReductionParams trial(type);
  const auto& logical = form.signature.reference()->getLogicalDomain();
  trial.reference = form.signature.reference()->name();
  trial.order.resize(logical.size());
  std::iota(trial.order.begin(), trial.order.end(), 0);
  for (const IterDomain* id : logical) {
    if (!id->isBroadcast()) {
      trial.fastest_dim = id->isReduction();
    }
  }
  trial.inner_axes = std::count_if(logical.begin(), logical.end(), [&](const IterDomain* id) {
    return id->isReduction() == trial.fastest_dim;
  });
  trial.vectorization = trial.fastest_dim ? 2 : 1;  // columns are reduced in groups of V
  if (type == SchedulerType::Reduction) {
    trial.threads_x = 4;
    trial.threads_y = 4;
  } else {
    trial.persistence = Persistence::Registers;
    trial.batches = 2;
    trial.threads_x = 4;
  }
  Fusion copy(fusion);
  try {
    schedule(&copy, trial);
  } catch (const UserError& error) {
    return Refusal{error.what()};  // a primitive says what it cannot do
  }
  return refusesLoops(copy, trial);
}

}  // namespace nvfuser::reduction
