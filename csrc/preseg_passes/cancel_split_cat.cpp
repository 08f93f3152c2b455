#include <preseg_passes/cancel_split_cat.h>

#include <algorithm>

#include <ops/alias.h>
#include <ops/axes.h>
#include <preseg_passes/joined_parts.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

/// A slice and what was done to it, last operation first.
struct Branch {
  const SliceOp* slice = nullptr;
  std::vector<const Expr*> operations;
};

Branch branchOf(const TensorView* part) {
  Branch branch;
  const Expr* def = part->definition();
  while (def != nullptr && !def->isA<SliceOp>()) {
    const std::optional<size_t> place = onlyTensorOperand(def);
    if (!place) {
      return {};
    }
    branch.operations.push_back(def);
    def = def->input(*place)->definition();
  }
  branch.slice = def == nullptr ? nullptr : def->as<SliceOp>();
  return branch;
}

bool sameOperation(const Expr* a, const Expr* b) {
  if (!a->sameOp(b) || a->output(0)->dtype() != b->output(0)->dtype() ||
      a->inputs().size() != b->inputs().size()) {
    return false;
  }
  for (size_t i = 0; i < a->inputs().size(); ++i) {
    const Val* x = a->input(i);
    const Val* y = b->input(i);
    if (x->isA<TensorView>() != y->isA<TensorView>() || x->dtype() != y->dtype() ||
        (!x->isA<TensorView>() && !x->sameAs(y))) {
      return false;
    }
  }
  return true;
}

/// Whether `slice` cuts the axis `cut` alone.
bool cutsOnly(const SliceOp* slice, size_t cut) {
  const std::vector<IterDomain*> axes = ops::axesOf(slice->in()->as<TensorView>());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!slice->step(i)->isOne() ||
        (i != cut &&
         (!slice->start(i)->isZero() || !slice->stop(i)->sameAs(ops::extentOf(axes[i]))))) {
      return false;
    }
  }
  return true;
}

bool followEachOther(const std::vector<Branch>& branches, size_t cut) {
  const Branch& first = branches.front();
  for (size_t b = 0; b < branches.size(); ++b) {
    const Branch& branch = branches[b];
    if (branch.slice == nullptr || branch.slice->in() != first.slice->in() ||
        !cutsOnly(branch.slice, cut) || branch.operations.size() != first.operations.size()) {
      return false;
    }
    if (b > 0 && !branch.slice->start(cut)->sameAs(branches[b - 1].slice->stop(cut))) {
      return false;
    }
    for (size_t k = 0; k < branch.operations.size(); ++k) {
      if (!sameOperation(branch.operations[k], first.operations[k])) {
        return false;
      }
    }
  }
  return true;
}

TensorView* uncut(const CatOp* cat) {
  const auto parts = joinedParts(cat);
  if (!parts) {
    return nullptr;
  }
  std::vector<Branch> branches;
  for (const TensorView* part : *parts) {
    branches.push_back(branchOf(part));
  }
  const auto cut = static_cast<size_t>(cat->concatenatedDim());
  if (!followEachOther(branches, cut)) {
    return nullptr;
  }
  auto* x = branches.front().slice->in()->as<TensorView>();
  const std::vector<IterDomain*> axes = ops::axesOf(x);
  Val* start = branches.front().slice->start(cut);
  Val* stop = branches.back().slice->stop(cut);
  if (!start->isZero() || !stop->sameAs(ops::extentOf(axes[cut]))) {
    std::vector<Slice> ranges(axes.size());
    ranges[cut] = {start, stop, nullptr};
    x = slice(x, ranges, true);
  }
  const std::vector<const Expr*>& operations = branches.front().operations;
  for (auto it = operations.rbegin(); it != operations.rend(); ++it) {
    std::vector<Val*> operands = (*it)->inputs();
    operands[*onlyTensorOperand(*it)] = x;
    x = applyTo(*it, operands);
  }
  return x;
}

}  // namespace

void cancelSplitCat(Fusion& fusion) {
  FusionGuard guard(&fusion);
  for (const Expr* expr : fusion.exprs()) {
    if (!expr->isA<CatOp>()) {
      continue;
    }
    auto* out = expr->output(0)->as<TensorView>();
    TensorView* whole = uncut(expr->as<CatOp>());
    if (whole != nullptr && sameForm(out, whole)) {
      replaceTensor(out, whole);
    }
  }
}

}  // namespace nvfuser::preseg_passes
