#include <scheduler/scatter/schedule.h>

#include <scheduler/analysis/row_values.h>
#include <scheduler/scatter/nests.h>
#include <scheduler/utils.h>

namespace nvfuser::scatters {

namespace {

using Tensors = std::unordered_set<TensorView*>;

class Scheduler {
 public:
  Scheduler(Fusion* fusion, const ScatterParams& params) : fusion_(fusion), params_(params) {}

  void run() {
    scheduler_utils::clearMemorySpace(fusion_);
    nests_ = separate(fusion_);
    forkOutputs();
    std::unordered_map<const TensorView*, int64_t> held{
        {nests_.target, 0}, {nests_.write, 0}, {nests_.result, 0}};
    for (TensorView* reference : {nests_.target, nests_.write, nests_.result}) {
      makeLoops(reference);
      const Tensors own = nestOf(reference, nests_);
      TransformPropagator propagator(reference);
      SetSelector selector(own);
      MaxLogicalDomainInfoSpanningTree(reference, &selector).traverse(&propagator);
      if (isShared()) {
        reference->axis(0)->parallelize(ParallelType::BIDx);
        scheduler_utils::parallelizeAllLike(reference, -1, {own.begin(), own.end()});
      }
    }
    if (!params_.rows) {
      // Written one by one, behind a loop of vectors that computes as many.
      for (TensorView* in : producersOf(nests_.write)) {
        held.emplace(in, nests_.write->nDims() - 1);
      }
    } else {
      for (TensorView* reference : {nests_.target, nests_.write, nests_.result}) {
        const Tensors own = nestOf(reference, nests_);
        holdRowValues({own.begin(), own.end()}, reference->nDims() - 1, held);
      }
    }
    MaxPosCalculator most(*fusion_, held);
    for (TensorView* tv : fusion_->allTvs()) {
      tv->inlineAt(-1, true, &most);
    }
  }

 private:
  bool isShared() const { return params_.tasks > 1 || params_.columns > 0; }

  /// What is read where it is computed, and stored besides.
  void forkOutputs() {
    const std::vector<Val*> outputs = fusion_->outputs();  // forking changes the list
    for (Val* val : outputs) {
      auto* output = val->as<TensorView>();
      if (output != nests_.result && !output->isFusionInput() && output->isFusionOutput() &&
          !fusion_->usesOf(output).empty()) {
        output->cacheFork();
      }
    }
  }

  /// Of [A…, D, B…] to those of scatter.h.
  void makeLoops(TensorView* tv) {
    mergeAround(tv, nests_.dim);
    const int64_t along = nests_.dim > 0 ? 1 : 0;  // [A?, D, B?]
    if (!params_.rows && tv != nests_.write && tv->nDims() > along + 1) {
      tv->merge(along);  // [A?, D·B]
    }
    if (params_.rows && params_.columns > 0) {
      tv->split(along + 1, params_.columns);
      tv->reorder({{along + 1, 0}});  // [B / X, A?, D, X]
    } else if (!params_.rows) {
      tv->split(along, kPoints);
      if (tv->nDims() > along + 2) {
        tv->reorder({{along + 1, along + 2}, {along + 2, along + 1}});
      }
    }
    if (params_.tasks > 1) {
      tv->split(0, params_.tasks, false);
    }
  }

  Fusion* fusion_;
  const ScatterParams& params_;
  Nests nests_;
};

}  // namespace

void schedule(Fusion* fusion, const ScatterParams& params) {
  FusionGuard guard(fusion);
  if (params.threads_x > 0) {
    scheduleThreads(fusion, params);
  } else {
    Scheduler(fusion, params).run();
  }
}

}  // namespace nvfuser::scatters
