#include <scheduler/replay_target.h>

#include <algorithm>

#include <id_model/axes_before.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

/// Of the extent that the axis had, not of a product or a quotient: of no elements there is none.
IterDomain* loopAxisLike(const IterDomain* id) {
  return IterDomainBuilder(id->start(), id->extent()).iter_type(id->getIterType()).build();
}

template <typename Suits>
const Expr* useAmong(const std::vector<Expr*>& uses, const Suits& suits) {
  const auto found = std::find_if(uses.begin(), uses.end(), suits);
  return found == uses.end() ? nullptr : *found;
}

}  // namespace

ReplayTarget::ReplayTarget(const TensorView* tv, bool may_create) : may_create_(may_create) {
  if (tv->hasRoot()) {
    for (Expr* expr : transformsBefore(tv->getLogicalDomain(), tv->getRootDomain())) {
      fixed_.insert(expr);
    }
  }
  for (Expr* expr : tv->domain()->allExprs()) {
    for (Val* in : expr->inputs()) {
      if (in->isA<IterDomain>()) {
        uses_[in->as<IterDomain>()].push_back(expr);
      }
    }
  }
}

const std::vector<Expr*>& ReplayTarget::usesOf(const IterDomain* id) const {
  static const std::vector<Expr*> none;
  const auto found = uses_.find(id);
  return found == uses_.end() ? none : found->second;
}

const Expr* ReplayTarget::fixedUse(const IterDomain* id) const {
  return useAmong(usesOf(id), [&](const Expr* use) { return fixed_.count(use) != 0; });
}

IterDomain* ReplayTarget::throughResizes(IterDomain* id) const {
  while (true) {
    const Expr* use = fixedUse(id);
    if (use == nullptr || !use->isA<Resize>()) {
      return id;
    }
    id = use->as<Resize>()->out();
  }
}

void ReplayTarget::take(const Expr* transform) {
  for (const Val* in : transform->inputs()) {
    if (in->isA<IterDomain>()) {
      consumed_.insert(in->as<IterDomain>());
    }
  }
  if (fixed_.count(transform) == 0) {
    used_.push_back(transform);
  }
}

IterDomain* ReplayTarget::restored(IterDomain* id) {
  if (const auto known = restored_.find(id); known != restored_.end()) {
    return known->second;
  }
  const Expr* use = fixedUse(id);
  if (use != nullptr && use->isA<Split>()) {
    joinAgain(use->as<Split>());
  } else if (use != nullptr && use->isA<Merge>()) {
    takeApartAgain(use->as<Merge>());
  }
  const auto made = restored_.find(id);
  return made == restored_.end() ? id : made->second;
}

void ReplayTarget::joinAgain(const Split* split) {
  IterDomain* outer = restored(split->outer());
  IterDomain* inner = restored(split->inner());
  if (split->in()->isBroadcast() || isTaken(outer) || isTaken(inner)) {
    return;
  }
  const Expr* merge = useAmong(usesOf(outer), [&](const Expr* expr) {
    return expr->isA<Merge>() && expr->input(0) == outer && expr->input(1) == inner;
  });
  if (merge == nullptr && may_create_) {
    IterDomain* whole = loopAxisLike(split->in());
    merge = IrBuilder::createInContainer<Merge>(whole->fusion(), whole, outer, inner);
  }
  if (merge != nullptr) {
    consumed_.insert({outer, inner});
    used_.push_back(merge);
    restored_[split->in()] = merge->output(0)->as<IterDomain>();
  }
}

void ReplayTarget::takeApartAgain(const Merge* merge) {
  IterDomain* whole = restored(merge->out());
  if (merge->outer()->isBroadcast() || merge->inner()->isBroadcast() || isTaken(whole)) {
    return;
  }
  Val* factor = merge->inner()->extent();
  const Expr* split = useAmong(usesOf(whole), [&](const Expr* expr) {
    return expr->isA<Split>() && expr->as<Split>()->innerSplit() &&
           expr->as<Split>()->factor()->sameAs(factor);
  });
  if (split == nullptr && may_create_) {
    IterDomain* outer = loopAxisLike(merge->outer());
    IterDomain* inner = loopAxisLike(merge->inner());
    split = IrBuilder::createInContainer<Split>(whole->fusion(), outer, inner, whole, factor, true);
  }
  if (split != nullptr) {
    consumed_.insert(whole);
    used_.push_back(split);
    restored_[merge->outer()] = split->output(0)->as<IterDomain>();
    restored_[merge->inner()] = split->output(1)->as<IterDomain>();
  }
}

}  // namespace nvfuser
