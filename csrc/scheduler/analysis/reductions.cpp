#include <scheduler/analysis/reductions.h>

#include <algorithm>

namespace nvfuser {

TensorView* ReductionSignature::reference() const {
  return reductions.front()->output(0)->as<TensorView>();
}

TensorView* ReductionSignature::source() const {
  return reductions.front()->input(0)->as<TensorView>();
}

bool ReductionSignature::spansReduced(const TensorView* tv, const IdGraph& permissive) const {
  const auto& logical = tv->getLogicalDomain();
  return std::any_of(logical.begin(), logical.end(), [&](const IterDomain* id) {
    return !id->isBroadcast() && !id->isReduction() && reduced.count(permissive.classOf(id)) != 0;
  });
}

std::variant<ReductionSignature, Refusal> reductionSignature(const Fusion& fusion,
                                                             const IdGraph& permissive) {
  ReductionSignature result;
  for (Expr* expr : fusion.exprs()) {
    if (!expr->isOneOf<ReductionOp, WelfordOp>()) {
      continue;
    }
    if (!expr->input(0)->isA<TensorView>()) {
      return Refusal{text(expr->output(0), " reduces a scalar")};
    }
    // A broadcast that is kept has the class of what it meets elsewhere; the source tells.
    const auto* out = expr->output(0)->as<TensorView>();
    std::set<int> reduced;
    std::set<int> kept;
    for (const IterDomain* id : out->getLogicalDomain()) {
      if (id->isReduction()) {
        reduced.insert(permissive.classOf(id));
      } else if (!id->isBroadcast()) {
        kept.insert(permissive.classOf(id));
      }
    }
    if (!result.reductions.empty() && (reduced != result.reduced || kept != result.kept)) {
      return Refusal{text(result.reference(), " and ", out, " are reduced over different axes")};
    }
    result.reductions.push_back(expr);
    result.reduced = std::move(reduced);
    result.kept = std::move(kept);
  }
  if (result.reductions.empty()) {
    return Refusal{"nothing is reduced"};
  }
  return result;
}

}  // namespace nvfuser
