#include <device_lower/validate_domains.h>

#include <algorithm>
#include <set>

#include <id_model/axes_before.h>
#include <iteration_space/schedule_refusal.h>

namespace nvfuser {

namespace {

/// Outputs of transforms of which one is in `list` (or made into one that is): all must be.
void requireComplete(const TensorView* tv, const std::vector<IterDomain*>& list,
                     std::string_view which, std::string_view help) {
  const std::vector<const IterDomain*> before =
      axesBefore({list.begin(), list.end()}, tv->getLogicalDomain());
  const std::set<const Val*> used(before.begin(), before.end());
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (used.count(id) == 0 && !id->isBroadcast() &&
        !(which == "allocation" && id->isReduction())) {
      refuseSchedule({tv,
                      text("the ", which, " domain of T", tv->name(), " leaves out its axis ", id),
                      std::string(help)});
    }
  }
  // Both parts of a split, both axes of a swizzle.
  for (const Expr* transform : transformsBefore(list, tv->getLogicalDomain())) {
    for (const Val* out : transform->outputs()) {
      if (used.count(out) == 0 && !out->as<IterDomain>()->isBroadcast()) {
        refuseSchedule({tv,
                        text("the ", which, " domain of T", tv->name(), " leaves out ", out,
                             ", one of the axes that a split made"),
                        std::string(help)});
      }
    }
  }
}

void validateVectors(const TensorView* tv) {
  const auto& axes = tv->getLoopDomain();
  size_t vectorized = axes.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i]->getParallelType() != ParallelType::Vectorize) {
      continue;
    }
    if (vectorized < axes.size()) {
      refuseSchedule({tv,
                      text(axisText(tv, i), " and axis ", vectorized,
                           " are both bound to Vectorize; a vector has one axis"),
                      "merge the two, or bind one of them to Unroll"});
    }
    vectorized = i;
    if (axes[i]->isReduction()) {
      refuseSchedule(
          {tv, text(axisText(tv, i), " is a reduction and cannot be bound to Vectorize"),
           "vectorize the copy that it reads (cacheAfter of the input), and bind this axis to "
           "Unroll"});
    }
  }
  for (size_t i = vectorized + 1; i < axes.size(); ++i) {
    if (!axes[i]->isBroadcast()) {
      refuseSchedule({tv,
                      text(axisText(tv, vectorized),
                           " is bound to Vectorize but is not the innermost axis: axis ", i, " (",
                           axes[i], ") is inside it"),
                      text("reorder({{", vectorized, ", -1}}) the axes, innermost last")});
    }
  }
}

}  // namespace

void validateDomains(const Fusion& fusion) {
  for (TensorView* tv : fusion.allTvs()) {
    if (tv->hasAllocation()) {
      requireComplete(tv, tv->getAllocationDomain(), "allocation",
                      "set an allocation domain that is made from all logical axes");
    }
    if (tv->isFusionInput()) {
      continue;
    }
    requireComplete(tv, tv->getLoopDomain(), "loop",
                    "transform the tensor with split, merge and reorder, which keep all axes");
    validateVectors(tv);
    for (size_t i = 0; i < tv->getLoopDomain().size(); ++i) {
      const IterDomain* id = tv->getLoopDomain()[i];
      if (id->hasPaddingToMultipleOfWarp() && id->getParallelType() != ParallelType::TIDx) {
        refuseSchedule(
            {tv,
             text(axisText(tv, i), " is padded to whole warps but is bound to ",
                  parallelTypeName(id->getParallelType()), "; warps are made of threadIdx.x"),
             "bind it to TIDx, or leave out padToMultipleOfWarp()"});
      }
    }
  }
}

}  // namespace nvfuser
