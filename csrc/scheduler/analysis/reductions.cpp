#include <scheduler/analysis/reductions.h>

#include <algorithm>
#include <map>

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

bool ReductionSignature::spansRows(const TensorView* tv, const IdGraph& permissive) const {
  std::set<int> own;
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (!id->isBroadcast() && !id->isReduction()) {
      own.insert(permissive.classOf(id));
    }
  }
  return std::includes(own.begin(), own.end(), reduced.begin(), reduced.end()) &&
         std::includes(own.begin(), own.end(), kept.begin(), kept.end());
}

namespace {

struct ReductionAxes {
  std::set<int> reduced;
  std::set<int> kept;
};

/// A broadcast that is kept has the class of what it meets elsewhere; the source tells.
ReductionAxes axesOf(const Expr* expr, const IdGraph& permissive) {
  ReductionAxes axes;
  for (const IterDomain* id : expr->output(0)->as<TensorView>()->getLogicalDomain()) {
    if (id->isReduction()) {
      axes.reduced.insert(permissive.classOf(id));
    } else if (!id->isBroadcast()) {
      axes.kept.insert(permissive.classOf(id));
    }
  }
  return axes;
}

}  // namespace

std::variant<ReductionSignature, Refusal> reductionSignature(const Fusion& fusion,
                                                             const IdGraph& permissive) {
  ReductionSignature result;
  for (Expr* expr : fusion.exprs()) {
    if (!isReduction(expr)) {
      continue;
    }
    if (!expr->input(0)->isA<TensorView>()) {
      return Refusal{text(expr->output(0), " reduces a scalar")};
    }
    const auto* out = expr->output(0)->as<TensorView>();
    auto [reduced, kept] = axesOf(expr, permissive);
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

namespace {

/// The reductions of two kinds, `outer_like` one of the outer ones, if these come last.
std::variant<InnerOuterReductions, Refusal> withOuter(
    const Expr* outer_like, const std::vector<Expr*>& exprs,
    const std::map<const Expr*, ReductionAxes>& axes, const IdGraph& permissive) {
  const ReductionAxes& outer_axes = axes.at(outer_like);
  InnerOuterReductions result;
  result.inner.reduced = outer_axes.kept;
  result.inner.kept = outer_axes.reduced;
  std::set<const Val*> in_tail;
  bool fits = true;
  std::string why;
  for (Expr* expr : exprs) {
    if (axes.count(expr) != 0) {
      const bool outer = axes.at(expr).reduced == outer_axes.reduced;
      (outer ? result.outer : result.inner.reductions).push_back(expr);
      if (outer && !expr->isA<ReductionOp>()) {
        fits = false;
        why = text(expr->output(0), " is one of several results of a reduction");
      }
      if (std::any_of(expr->inputs().begin(), expr->inputs().end(),
                      [&](const Val* in) { return in_tail.count(in) != 0; })) {
        fits = false;
        why = text(expr->output(0), " reduces what is computed from ", outer_like->output(0));
      }
      if (outer) {
        in_tail.insert(expr->outputs().begin(), expr->outputs().end());
      }
      continue;
    }
    const bool reads_tail = std::any_of(expr->inputs().begin(), expr->inputs().end(),
                                        [&](const Val* in) { return in_tail.count(in) != 0; });
    if (!reads_tail) {
      continue;
    }
    result.tail.push_back(expr);
    for (const Val* out : expr->outputs()) {
      in_tail.insert(out);
      const auto* tv = out->as<TensorView>();
      std::set<int> has;
      for (const IterDomain* id : tv->getLogicalDomain()) {
        if (id->hasExpandedExtent() || tv->hasRoot()) {
          has.insert(-1);
        } else if (!id->isBroadcast()) {
          has.insert(permissive.classOf(id));
        }
      }
      if (has != outer_axes.kept) {
        fits = false;
        why = text(tv, " reads ", outer_like->output(0), " and has other axes");
      }
    }
    for (const Val* in : expr->inputs()) {
      if (in->isA<TensorView>() && in_tail.count(in) == 0) {
        fits = false;
        why = text(expr->output(0), " reads ", outer_like->output(0), " and ", in,
                   ", which is computed elsewhere");
      }
    }
  }
  if (!fits) {
    return Refusal{why};
  }
  return result;
}

}  // namespace

std::variant<InnerOuterReductions, Refusal> innerOuterReductions(const Fusion& fusion,
                                                                 const IdGraph& permissive) {
  // The outer ones come last: nothing that has their reduced axes reads what they give.
  std::vector<Expr*> reductions;
  std::map<const Expr*, ReductionAxes> axes;
  const std::vector<Expr*> exprs = fusion.exprs();
  for (Expr* expr : exprs) {
    if (isReduction(expr)) {
      if (!expr->input(0)->isA<TensorView>()) {
        return Refusal{text(expr->output(0), " reduces a scalar")};
      }
      reductions.push_back(expr);
      axes.emplace(expr, axesOf(expr, permissive));
    }
  }
  if (reductions.empty()) {
    return Refusal{"nothing is reduced"};
  }
  const ReductionAxes& first = axes.at(reductions.front());
  const Expr* other = nullptr;
  for (const Expr* expr : reductions) {
    const ReductionAxes& of = axes.at(expr);
    if (of.reduced == first.reduced && of.kept == first.kept) {
      continue;
    }
    if (of.reduced != first.kept || of.kept != first.reduced) {
      return Refusal{text(reductions.front()->output(0), " and ", expr->output(0),
                          " are reduced neither over the same axes nor over each other's")};
    }
    other = other == nullptr ? expr : other;
  }
  if (other == nullptr) {
    return Refusal{"all reductions are over the same axes"};
  }
  // The reduction that one of the other kind reads is the inner one.
  std::variant<InnerOuterReductions, Refusal> found = withOuter(other, exprs, axes, permissive);
  return std::holds_alternative<Refusal>(found)
             ? withOuter(reductions.front(), exprs, axes, permissive)
             : std::move(found);
}

std::variant<ReductionSignature, Refusal> rowSignature(const Fusion& fusion,
                                                       const IdGraph& permissive) {
  auto one = reductionSignature(fusion, permissive);
  if (std::holds_alternative<ReductionSignature>(one)) {
    return one;
  }
  auto two = innerOuterReductions(fusion, permissive);
  if (auto* found = std::get_if<InnerOuterReductions>(&two)) {
    return std::move(found->inner);
  }
  return one;
}

}  // namespace nvfuser
