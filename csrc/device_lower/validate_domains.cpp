#include <device_lower/validate_domains.h>

#include <algorithm>
#include <set>

#include <device_lower/schedule_error.h>

namespace nvfuser {

namespace {

/// Logical axes that some axis of `list` is made of.
std::set<const IterDomain*> sourcesOf(const std::vector<IterDomain*>& list, const TensorView* tv) {
  const auto& logical = tv->getLogicalDomain();
  std::set<const IterDomain*> found;
  std::set<const IterDomain*> seen;
  std::vector<const IterDomain*> open(list.begin(), list.end());
  while (!open.empty()) {
    const IterDomain* id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) {
      continue;
    }
    if (std::find(logical.begin(), logical.end(), id) != logical.end()) {
      found.insert(id);
    } else if (id->definition() != nullptr) {
      for (const Val* in : id->definition()->inputs()) {
        open.push_back(in->as<IterDomain>());
      }
    }
  }
  return found;
}

/// Outputs of transforms of which one is in `list` (or made into one that is): all must be.
void requireComplete(const TensorView* tv, const std::vector<IterDomain*>& list,
                     std::string_view which, std::string_view help) {
  const std::set<const IterDomain*> sources = sourcesOf(list, tv);
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (sources.count(id) == 0 && !id->isBroadcast() &&
        !(which == "allocation" && id->isReduction())) {
      refuseSchedule(
          tv, text("the ", which, " domain of T", tv->name(), " leaves out its axis ", id), help);
    }
  }
  // Both parts of a split, both axes of a swizzle.
  std::set<const IterDomain*> used(list.begin(), list.end());
  std::vector<const IterDomain*> open(list.begin(), list.end());
  std::set<const Expr*> transforms;
  while (!open.empty()) {
    const Expr* def = open.back()->definition();
    const bool is_logical = sources.count(open.back()) != 0;
    open.pop_back();
    if (def == nullptr || is_logical || !transforms.insert(def).second) {
      continue;
    }
    for (const Val* in : def->inputs()) {
      used.insert(in->as<IterDomain>());
      open.push_back(in->as<IterDomain>());
    }
  }
  for (const Expr* transform : transforms) {
    for (const Val* out : transform->outputs()) {
      if (used.count(out->as<IterDomain>()) == 0 && !out->as<IterDomain>()->isBroadcast()) {
        refuseSchedule(tv,
                       text("the ", which, " domain of T", tv->name(), " leaves out ", out,
                            ", one of the axes that a split made"),
                       help);
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
      refuseSchedule(tv,
                     text(axisText(tv, i), " and axis ", vectorized,
                          " are both bound to Vectorize; a vector has one axis"),
                     "merge the two, or bind one of them to Unroll");
    }
    vectorized = i;
    if (axes[i]->isReduction()) {
      refuseSchedule(
          tv, text(axisText(tv, i), " is a reduction and cannot be bound to Vectorize"),
          "vectorize the copy that it reads (cacheAfter of the input), and bind this axis to "
          "Unroll");
    }
  }
  for (size_t i = vectorized + 1; i < axes.size(); ++i) {
    if (!axes[i]->isBroadcast()) {
      refuseSchedule(tv,
                     text(axisText(tv, vectorized),
                          " is bound to Vectorize but is not the innermost axis: axis ", i, " (",
                          axes[i], ") is inside it"),
                     text("reorder({{", vectorized, ", -1}}) the axes, innermost last"));
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
            tv,
            text(axisText(tv, i), " is padded to whole warps but is bound to ",
                 parallelTypeName(id->getParallelType()), "; warps are made of threadIdx.x"),
            "bind it to TIDx, or leave out padToMultipleOfWarp()");
      }
    }
  }
}

}  // namespace nvfuser
