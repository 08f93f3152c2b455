/// The rules of the IR that hold between any two stages (ir/README.md lists them). Broken by a
/// user: `UserError`; broken by us: `InternalError`.
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/fusion.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

void verifyDomain(const TensorView* tv) {
  const TensorDomain* td = tv->domain();
  check(td->contiguity().size() == td->maybeAllocation().size(),
        "contiguity has an entry for each allocation axis");
  // Every axis of a list is reached from the root (or logical) axes, or stands there by itself as
  // an additional axis.
  std::unordered_set<const Val*> known;
  for (IterDomain* id : td->maybeRoot()) {
    known.insert(id);
  }
  for (IterDomain* id : td->logical()) {
    if (id->definition() == nullptr) {
      known.insert(id);
    }
  }
  for (IterDomain* id : td->additionalIDs()) {
    known.insert(id);
  }
  for (Expr* expr : td->allExprs()) {
    for (Val* out : expr->outputs()) {
      known.insert(out);
    }
  }
  for (const auto* list : {&td->logical(), &td->allocation(), &td->loop()}) {
    std::unordered_set<const Val*> once;
    for (IterDomain* id : *list) {
      if (!once.insert(id).second) {
        userError("verify: axis ", id, " stands twice in a domain of ", tv,
                  "; name each axis once");
      }
      if (known.count(id) == 0 && list != &td->allocation()) {
        userError("verify: axis ", id, " of ", tv,
                  " does not come from its logical domain; transform the tensor's own axes");
      }
    }
  }
}

}  // namespace

void Fusion::verify() const {
  std::unordered_set<const Val*> available(inputs_.begin(), inputs_.end());
  for (Expr* expr : exprs()) {
    for (Val* in : expr->inputs()) {
      check(in->fusion() == this, "an operand belongs to another Fusion");
      if (in->isA<TensorView>() && available.count(in) == 0) {
        userError("verify: ", in->toString(), " is read by ", expr->getOpString(),
                  " but is neither an input of the Fusion nor computed in it; addInput it");
      }
    }
    for (Val* out : expr->outputs()) {
      check(out->isFusionInput() || out->definition() == expr, "a result forgot its definition");
      available.insert(out);
    }
    for (TensorView* out : tensorOutputs(expr)) {
      for (TensorView* in : tensorInputs(expr)) {
        (void)mapAxes(expr, in, out);
      }
    }
  }
  for (Val* out : outputs_) {
    if (available.count(out) == 0) {
      userError("verify: output ", out->toString(), " is not computed in the Fusion");
    }
  }
  for (TensorView* tv : allTvs()) {
    verifyDomain(tv);
  }
}

void Fusion::verifySettled() const {
  for (const TensorView* tv : allTvs()) {
    for (const auto* list :
         {&tv->getMaybeRootDomain(), &tv->getLogicalDomain(), &tv->getLoopDomain()}) {
      for (const IterDomain* id : *list) {
        if (id->isSymbolic()) {
          throw InternalError(text("axis ", id, " of ", tv, " was not settled"));
        }
      }
    }
  }
}

}  // namespace nvfuser
