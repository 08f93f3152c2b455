#include <segmenter/extract.h>

#include <algorithm>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/cloner.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

/// A tensor between two kernels is for its reader an input like any other, dense in the order in
/// memory that it was given.
void becomePlainInput(TensorView* tv) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  const std::vector<IterDomain*> memory =
      TensorDomain::noReductions(tv->getMaybeAllocationDomain());
  std::vector<IterDomain*> axes = IterDomain::clone(logical);
  auto* domain = IrBuilder::createInContainer<TensorDomain>(
      tv->fusion(), axes, TensorDomain::getContiguityFilledWith(axes, true));
  std::vector<IterDomain*> ordered;
  for (const IterDomain* id : memory) {
    const auto place = std::find(logical.begin(), logical.end(), id);
    if (place != logical.end()) {
      ordered.push_back(axes[static_cast<size_t>(place - logical.begin())]);
    }
  }
  // An order of other axes (splits) is refused when the tensor is allocated.
  if (ordered.size() == axes.size() && ordered != axes) {
    Contiguity contiguity = TensorDomain::getContiguityFilledWith(ordered, true);
    domain->setAllocationDomain(std::move(ordered), std::move(contiguity));
  }
  ReplaceDomain::set(tv, domain);
}

/// A tensor that no other kernel reads is not stored: it has no order in memory.
void staysWithin(TensorView* tv) {
  tv->setAllocationDomain({}, TensorDomain::getContiguityFilledWith(tv->getLogicalDomain(), true));
}

/// Everything that a group's operations refer to: tensors with the transforms between their axes,
/// scalars with what computes them.
class Needed {
 public:
  void tensor(const TensorView* tv, bool with_transforms) {
    if (!seen_.insert(tv).second) {
      return;
    }
    nodes_.push_back(tv);
    const TensorDomain* domain = tv->domain();
    for (const IterDomain* id : with_transforms ? domain->allIDs() : domain->logical()) {
      axis(id);
    }
    if (with_transforms) {
      for (const Expr* transform : domain->allExprs()) {
        expression(transform);
      }
    }
  }

  void expression(const Expr* expr) {
    if (!seen_.insert(expr).second) {
      return;
    }
    nodes_.push_back(expr);
    for (const Val* in : expr->inputs()) {
      scalar(in);
    }
    for (const Val* val : expr->fieldVals()) {
      scalar(val);
    }
  }

  const std::vector<const Statement*>& nodes() const { return nodes_; }
  bool has(const Val* val) const { return seen_.count(val) != 0; }

 private:
  void axis(const IterDomain* id) {
    for (const Val* val : {id->start(), id->extent(), id->expandedExtent(), id->stopOffset()}) {
      scalar(val);
    }
  }

  /// With the expressions that it is computed by, as far as they compute scalars.
  void scalar(const Val* val) {
    std::vector<const Val*> open{val};
    while (!open.empty()) {
      const Val* next = open.back();
      open.pop_back();
      if (next == nullptr || !next->isScalar() || !seen_.insert(next).second) {
        continue;
      }
      nodes_.push_back(next);
      if (const Expr* definition = next->definition()) {
        if (seen_.insert(definition).second) {
          nodes_.push_back(definition);
        }
        open.insert(open.end(), definition->inputs().begin(), definition->inputs().end());
        for (const Val* attached : definition->fieldVals()) {
          open.push_back(attached);
        }
      }
    }
  }

  std::unordered_set<const Statement*> seen_;
  std::vector<const Statement*> nodes_;
};

/// Sizes that only inputs of the whole fusion tell which the group does not read (those of a tensor
/// of zeros like another): such inputs become the kernel's, unread.
std::vector<TensorView*> sourcesOfSizes(const Fusion& whole, const Group& group,
                                        const Needed& needed) {
  std::unordered_set<const Val*> known(whole.inputs().begin(), whole.inputs().end());
  auto learn = [&](const TensorView* tv) {
    for (const IterDomain* id : TensorDomain::noReductions(tv->getLogicalDomain())) {
      known.insert({id->extent(), id->getMaybeExpandedExtent()});
    }
  };
  for (const TensorView* in : group.inputs) {
    learn(in);
  }
  auto missing = [&](const IterDomain* id) {
    const Val* extent = id->getMaybeExpandedExtent();
    return needed.has(extent) && !extent->isConst() && extent->definition() == nullptr &&
           known.count(extent) == 0;
  };
  std::vector<TensorView*> sources;
  for (Val* input : whole.inputs()) {
    if (auto* tv = dynamic_cast<TensorView*>(input)) {
      const std::vector<IterDomain*>& axes = tv->getLogicalDomain();
      if (std::any_of(axes.begin(), axes.end(), missing)) {
        learn(tv);
        sources.push_back(tv);
      }
    }
  }
  return sources;
}

}  // namespace

ExtractedGroup extractGroup(const Fusion& whole, const Group& group) {
  Needed needed;
  for (const TensorView* in : group.inputs) {
    needed.tensor(in, in->isFusionInput());
  }
  for (const Expr* expr : group.exprs) {
    needed.expression(expr);
    for (const TensorView* out : tensorOutputs(expr)) {
      needed.tensor(out, true);
    }
  }
  std::vector<TensorView*> inputs(group.inputs.begin(), group.inputs.end());
  for (TensorView* in : sourcesOfSizes(whole, group, needed)) {
    needed.tensor(in, true);
    inputs.push_back(in);
  }
  // What a kernel may write to an input itself, it is given.
  for (const TensorView* out : group.outputs) {
    Val* target = whole.getOutputAlias(out).aliased_io;
    if (target != nullptr && std::find(inputs.begin(), inputs.end(), target) == inputs.end()) {
      needed.tensor(target->as<TensorView>(), true);
      inputs.push_back(target->as<TensorView>());
    }
  }
  ExtractedGroup result;
  result.fusion = std::make_unique<Fusion>();
  Fusion& part = *result.fusion;
  IrCloner cloner = Fusion::copyPart(&whole, &part, needed.nodes());
  for (const Val* input : whole.inputs()) {
    if (!input->isA<TensorView>() && needed.has(input)) {
      part.addInput(cloner.clone(input));
      result.inputs.push_back(input);
    }
  }
  for (TensorView* in : inputs) {
    TensorView* copy = cloner.clone(in);
    if (!in->isFusionInput()) {
      if (copy->definition() != nullptr) {
        part.removeExpr(copy->definition());
      }
      becomePlainInput(copy);
    }
    part.addInput(copy);
    result.inputs.push_back(in);
  }
  for (TensorView* out : group.outputs) {
    part.addOutput(cloner.clone(out));
    result.outputs.push_back(out);
  }
  for (const Expr* expr : group.exprs) {
    for (TensorView* tv : tensorOutputs(expr)) {
      if (tv->hasAllocation() &&
          std::find(group.outputs.begin(), group.outputs.end(), tv) == group.outputs.end()) {
        staysWithin(cloner.clone(tv));
      }
    }
  }
  return result;
}

}  // namespace nvfuser
