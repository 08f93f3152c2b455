#include <scheduler/reduction/reduction.h>

#include <ir/exact_numerics.h>
#include <scheduler/reduction/in_order.h>
#include <scheduler/reduction/plan.h>
#include <scheduler/reduction/refuses_turned.h>
#include <scheduler/reduction/schedule.h>
#include <scheduler/reduction/trial.h>
#include <scheduler/reduction/turned_rows.h>

namespace nvfuser {

using namespace reduction;

namespace {

class ReductionScheduler : public SchedulerEntry {
 public:
  SchedulerType type() const override { return SchedulerType::Reduction; }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    auto form = Form::of(fusion);
    if (auto* refusal = std::get_if<Refusal>(&form)) {
      return std::move(*refusal);
    }
    const Form& of = *std::get<std::unique_ptr<Form>>(form);
    if (!of.buffers.held().empty()) {
      return Refusal{
          text(of.buffers.held().front(), " is needed both before and behind a reduction")};
    }
    if (reducesInOrder(fusion)) {
      if (auto refusal = refusesInOrder(of)) {
        return refusal;
      }
    }
    return tryForm(fusion, of, type());
  }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo& info) const override {
    const auto form = std::get<std::unique_ptr<Form>>(Form::of(fusion));
    const Problem problem(fusion, *form, info);
    std::unique_ptr<ReductionParams> params = problem.makeParams(type());
    if (reducesInOrder(fusion)) {
      if (auto refusal = planInOrder(problem, *params)) {
        return *refusal;
      }
      problem.setWidths(*params);
      return params;
    }
    if (auto refusal = refusesTurned(problem)) {
      return *refusal;
    }
    if (params->host) {
      planHost(problem, *params);
      planTurnedRows(problem, *params);
      shareRows(problem, *params);
      planPasses(problem, *params);
    } else if (params->fastest_dim) {
      planInner(problem, true, *params);
    } else {
      planOuter(problem, true, *params);
    }
    planChunks(problem, *params);
    problem.setWidths(*params);
    return params;
  }

  void schedule(Fusion* fusion, const HeuristicParams& params) const override {
    reduction::schedule(fusion, static_cast<const ReductionParams&>(params));
  }
};

}  // namespace

const SchedulerEntry& reductionScheduler() {
  static const ReductionScheduler scheduler;
  return scheduler;
}

}  // namespace nvfuser
