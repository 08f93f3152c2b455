#include <scheduler/reduction/trial.h>

#include <algorithm>
#include <numeric>

#include <ir/external_ops.h>
#include <scheduler/reduction/loops.h>
#include <scheduler/reduction/refuses_loops.h>
#include <scheduler/reduction/schedule.h>

namespace nvfuser::reduction {

namespace {

// Loops that agree have to do so for all sizes, so these are none that a reshape is likely to have.
constexpr int64_t kVector = 13;
constexpr int64_t kTriedThreads = 17;
constexpr int64_t kBatches = 11;

}  // namespace

std::optional<Refusal> tryLoops(const Fusion& fusion, const Form& form, SchedulerType type,
                                const std::vector<int64_t>& order, bool fastest_dim,
                                int64_t inner_axes) {
  ReductionParams trial(type);
  trial.reference = form.signature.reference()->name();
  trial.reduced = reducedAxes(form.signature.reference());
  trial.order = order;
  trial.fastest_dim = fastest_dim;
  trial.inner_axes = inner_axes;
  trial.vectorization = fastest_dim ? kVector : 1;  // columns are reduced in groups of V
  if (type == SchedulerType::Reduction) {
    trial.threads_x = kTriedThreads;
    trial.threads_y = kTriedThreads;
  } else {
    trial.persistence = Persistence::Registers;
    trial.batches = kBatches;
    trial.threads_x = kTriedThreads;
  }
  Fusion copy(fusion);
  if (auto refusal = trySchedule(&copy, trial)) {
    return refusal;
  }
  return refusesLoops(copy, trial);
}

std::optional<Refusal> tryForm(const Fusion& fusion, const Form& form, SchedulerType type) {
  for (const Expr* expr : fusion.exprs()) {
    if (isExternalOp(expr)) {
      return Refusal{text(expr->output(0), " is the result of ", expr->getOpString(),
                          ", which has no kernel")};
    }
  }
  const auto& logical = form.signature.reference()->getLogicalDomain();
  std::vector<int64_t> order(logical.size());
  std::iota(order.begin(), order.end(), 0);
  bool fastest_dim = true;
  for (const IterDomain* id : logical) {
    fastest_dim = id->isBroadcast() ? fastest_dim : id->isReduction();
  }
  const auto inner = std::count_if(logical.begin(), logical.end(), [&](const IterDomain* id) {
    return id->isReduction() == fastest_dim;
  });
  return tryLoops(fusion, form, type, order, fastest_dim, inner);
}

}  // namespace nvfuser::reduction
