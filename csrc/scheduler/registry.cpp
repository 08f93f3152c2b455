#include <scheduler/registry.h>

#include <scheduler/expr_eval/expr_eval.h>
#include <scheduler/greedy/greedy.h>
#include <scheduler/no_op/no_op.h>
#include <scheduler/persistent/inner_outer.h>
#include <scheduler/persistent/persistent.h>
#include <scheduler/pointwise/pointwise.h>
#include <scheduler/reduction/reduction.h>
#include <scheduler/scan/scan.h>
#include <scheduler/scatter/scatter.h>
#include <scheduler/transpose/transpose.h>

namespace nvfuser {

const std::vector<const SchedulerEntry*>& schedulerEntries() {
  static const std::vector<const SchedulerEntry*> entries{
      &scatterScheduler(),
      &exprEvalScheduler(),  // one operation of a library
      &noOpScheduler(),
      &scanScheduler(),
      &transposeScheduler(),
      &pointwiseScheduler(),
      &reductionScheduler(),
      &innerPersistentScheduler(),
      &outerPersistentScheduler(),
      &innerOuterPersistentScheduler(),
      &greedyScheduler(),
  };
  return entries;
}

const SchedulerEntry& schedulerEntry(SchedulerType type) {
  for (const SchedulerEntry* entry : schedulerEntries()) {
    if (entry->type() == type) {
      return *entry;
    }
  }
  userError("there is no automatic scheduler ", schedulerTypeName(type));
}

std::optional<Refusal> refusalOfForm(const SchedulerEntry& entry, const Fusion& fusion) {
  auto refusal = entry.refusesForm(fusion);
  return refusal || entry.refusesAs() == nullptr ? refusal
                                                 : refusalOfForm(*entry.refusesAs(), fusion);
}

}  // namespace nvfuser
