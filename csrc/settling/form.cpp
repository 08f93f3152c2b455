#include <settling/form.h>

#include <unordered_set>

namespace nvfuser::settling {

FormQuestions::FormQuestions(const Fusion& fusion) {
  std::unordered_set<const Val*> seen;
  for (const TensorView* tv : fusion.allTvs()) {
    for (const auto* list : {&tv->getMaybeRootDomain(), &tv->getLogicalDomain()}) {
      for (const IterDomain* id : *list) {
        Val* extent = id->getMaybeExpandedExtent();
        if (!extent->isConst() && seen.insert(extent).second) {
          extents_.push_back(extent);
        }
      }
    }
  }
}

std::string FormQuestions::answers(ExpressionEvaluator& sizes) const {
  std::string form;
  for (const Val* extent : extents_) {
    const PolymorphicValue size = sizes.evaluate(extent);
    Count count = Count::Many;
    if (size.hasValue() && size == PolymorphicValue(0)) {
      count = Count::None;
    } else if (size.hasValue() && size == PolymorphicValue(1)) {
      count = Count::One;
    }
    form += static_cast<char>(count);
  }
  return form;
}

}  // namespace nvfuser::settling
