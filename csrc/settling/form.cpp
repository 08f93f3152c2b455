#include <settling/form.h>

#include <algorithm>
#include <unordered_set>

#include <ir/internal_nodes.h>

namespace nvfuser::settling {

namespace {

bool isOne(const Val* val) {
  return val->isConst() && isIntegralType(val->dtype()) && val->value() == PolymorphicValue(1);
}

}  // namespace

Val* comparedWithOne(const Val* val) {
  const Expr* def = val->definition();
  const bool compares = def != nullptr && def->isA<BinaryOp>() &&
                        def->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Eq;
  return compares && val->isScalar() && isOne(def->input(1)) ? def->input(0) : nullptr;
}

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
  for (const auto& val : fusion.vals()) {
    if (seen.count(comparedWithOne(val.get())) != 0) {
      comparisons_.push_back(val.get());
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

std::string FormQuestions::many() const {
  return std::string(extents_.size(), static_cast<char>(Count::Many));
}

bool FormQuestions::areAsOfMany(ExpressionEvaluator& sizes) const {
  auto choosesBetweenEqual = [&](const Val* condition, const Expr* use) {
    return use->isA<TernaryOp>() && use->output(0)->isScalar() && use->input(0) == condition &&
           use->as<TernaryOp>()->getTernaryOpType() == TernaryOpType::Where &&
           sizes.evaluate(use->input(1)) == sizes.evaluate(use->input(2));
  };
  return std::all_of(comparisons_.begin(), comparisons_.end(), [&](const Val* compared) {
    const PolymorphicValue is_one = sizes.evaluate(compared);
    const auto& uses = compared->uses();
    return !is_one.hasValue() || is_one == PolymorphicValue(false) ||
           (!compared->isFusionOutput() &&
            std::all_of(uses.begin(), uses.end(),
                        [&](const Expr* use) { return choosesBetweenEqual(compared, use); }));
  });
}

}  // namespace nvfuser::settling
