#include <scheduler/greedy/greedy.h>

#include <ir/cloner.h>
#include <ir/external_ops.h>
#include <ir/internal_nodes.h>
#include <scheduler/reduction/problem.h>
#include <scheduler/reduction/refuses_turned.h>
#include <scheduler/utils.h>

namespace nvfuser {

namespace {

struct GreedyParams : HeuristicParams {
  GreedyParams() : HeuristicParams(SchedulerType::Greedy) {}
  int64_t threads = 128;

  std::string toString() const override { return text("threads ", threads); }
  std::unique_ptr<HeuristicParams> clone() const override {
    return std::make_unique<GreedyParams>(*this);
  }
};

/// The first tensor that is not computed inside the loops of its consumers; null if all are. A
/// result without readers (a Welford reduction's count) is not asked for.
const TensorView* notInlined(const Fusion& fusion) {
  for (const TensorView* tv : fusion.allTvs()) {
    if (tv->definition() != nullptr && !tv->isFusionOutput() && !fusion.usesOf(tv).empty() &&
        tv->getComputeAtPosition() < tv->nDims()) {
      return tv;
    }
  }
  return nullptr;
}

void scheduleTree(TensorView* reference, int64_t threads) {
  // Axes that threads can be spread over, in front.
  std::unordered_map<int64_t, int64_t> order;
  int64_t spread = 0;
  const auto& loop = reference->getLoopDomain();
  for (size_t i = 0; i < loop.size(); ++i) {
    if (loop[i]->isIteration() || loop[i]->isBroadcast()) {
      order[static_cast<int64_t>(i)] = spread++;
    }
  }
  if (spread == 0) {
    inlineMost();
    return;
  }
  reference->reorder(order);
  while (spread > 1) {
    reference->merge(0);
    --spread;
  }
  reference->split(0, threads);
  TransformPropagator propagator(reference);
  MaxLogicalDomainInfoSpanningTree(reference).traverse(&propagator);
  reference->axis(0)->parallelize(ParallelType::BIDx);
  reference->axis(1)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(reference);
  inlineMost();
}

class GreedyScheduler : public SchedulerEntry {
 public:
  SchedulerType type() const override { return SchedulerType::Greedy; }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    for (const Expr* expr : fusion.exprs()) {
      if (isExternalOp(expr)) {
        return Refusal{text(expr->output(0), " is the result of ", expr->getOpString(),
                            ", which has no kernel")};
      }
    }
    const Expr* last = nullptr;
    for (const Val* output : fusion.outputs()) {
      if (last != nullptr && output->definition() != last) {
        return Refusal{text(fusion.outputs()[0], " and ", output,
                            " are computed by different operations; a tree has one at its end")};
      }
      last = output->definition();
    }
    if (last == nullptr) {
      return Refusal{"nothing is computed"};
    }
    Fusion copy(fusion);
    FusionGuard guard(&copy);
    schedule(&copy, GreedyParams());
    if (const TensorView* tv = notInlined(copy)) {
      return Refusal{text(tv, " is not read at the element that is computed")};
    }
    return std::nullopt;
  }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo& info) const override {
    const auto form = reduction::Form::of(fusion);
    if (const auto* rows = std::get_if<std::unique_ptr<reduction::Form>>(&form)) {
      if (auto refusal = refusesTurned(reduction::Problem(fusion, **rows, info))) {
        return *refusal;
      }
    }
    return std::make_unique<GreedyParams>();
  }

  void schedule(Fusion* fusion, const HeuristicParams& params) const override {
    FusionGuard guard(fusion);
    scheduler_utils::clearMemorySpace(fusion);  // what another segment gives is computed again
    scheduleTree(fusion->outputs()[0]->as<TensorView>(),
                 static_cast<const GreedyParams&>(params).threads);
  }
};

}  // namespace

const SchedulerEntry& greedyScheduler() {
  static const GreedyScheduler scheduler;
  return scheduler;
}

}  // namespace nvfuser
