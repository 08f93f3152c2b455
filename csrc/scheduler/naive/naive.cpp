#include <scheduler/naive/naive.h>

#include <ir/axis_map.h>
#include <scheduler/utils.h>

namespace nvfuser {

namespace {

bool everythingInlined(const TensorView* reference) {
  for (const TensorView* tv : reference->fusion()->allTvs()) {
    if (tv->definition() == nullptr || tv->isFusionOutput()) {
      continue;
    }
    if (tv->getComputeAtPosition() < tv->nDims()) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool scheduleNaive(TensorView* reference) {
  constexpr int64_t kThreads = 128;
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
    return everythingInlined(reference);
  }
  reference->reorder(order);
  while (spread > 1) {
    reference->merge(0);
    --spread;
  }
  reference->split(0, kThreads);
  TransformPropagator propagator(reference);
  MaxLogicalDomainInfoSpanningTree(reference).traverse(&propagator);
  reference->axis(0)->parallelize(ParallelType::BIDx);
  reference->axis(1)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(reference);
  inlineMost();
  return everythingInlined(reference);
}

}  // namespace nvfuser
