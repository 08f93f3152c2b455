#include <multidevice/define_parts.h>

#include <algorithm>

#include <ir/builder.h>
#include <ir/composite_nodes.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/composite.h>
#include <ops/indexing.h>
#include <ops/reshape_plan.h>
#include <settling/redefine.h>

namespace nvfuser::multidevice {

namespace {

using ops::axesOf;
using ops::extentOf;

/// The sizes of the result's part.
std::vector<Val*> sizesOf(const TensorView* out, const Sharding& sharding, const PartSizes& sizes) {
  std::vector<Val*> all;
  const std::vector<IterDomain*> axes = axesOf(out);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto mesh_axis = sharding.of(i);
    all.push_back(mesh_axis ? sizes.partOf(extentOf(axes[i]), *mesh_axis, out, i)
                            : extentOf(axes[i]));
  }
  return all;
}

/// Places in `root` of the axes that `id` is made of.
void collectRoots(const std::vector<IterDomain*>& root, const IterDomain* id,
                  std::vector<size_t>& places) {
  const auto found = std::find(root.begin(), root.end(), id);
  if (found != root.end()) {
    places.push_back(static_cast<size_t>(found - root.begin()));
  } else if (const Expr* def = id->definition()) {
    for (const Val* input : def->inputs()) {
      if (input->isA<IterDomain>()) {
        collectRoots(root, input->as<IterDomain>(), places);
      }
    }
  }
}

/// Which axes the reshape that made `out` took together.
std::vector<ops::AxisGroup> groupsOf(const TensorView* out) {
  const std::vector<IterDomain*> root = TensorDomain::noReductions(out->getMaybeRootDomain());
  const std::vector<IterDomain*> logical = axesOf(out);
  std::vector<ops::AxisGroup> groups;
  for (size_t i = 0; i < logical.size(); ++i) {
    std::vector<size_t> places;
    collectRoots(root, logical[i], places);
    check(!places.empty(), "an axis of a reshape is made of axes");
    const auto [first, last] = std::minmax_element(places.begin(), places.end());
    if (!groups.empty() && *first < groups.back().old_end) {
      groups.back().old_end = std::max(groups.back().old_end, *last + 1);
      groups.back().new_end = i + 1;
    } else {
      groups.push_back({*first, *last + 1, i, i + 1});
    }
  }
  return groups;
}

/// A squeezed axis that was stretched may be real by now, as it was exchanged: its elements are
/// equal. There may be none, of which a maximum is something, too.
TensorView* squeezed(const SqueezeOp* op, const TensorView* global) {
  auto* x = op->in()->as<TensorView>();
  const std::vector<IterDomain*> axes = axesOf(x);
  const std::vector<IterDomain*> before = axesOf(global);
  std::vector<bool> flags;
  for (size_t i = axes.size(); i-- > 0;) {
    if (op->isSqueezeDim(i) && before[i]->hasExpandedExtent() && !axes[i]->isBroadcast()) {
      const auto axis = static_cast<int64_t>(i);
      x = isComplexType(x->dtype()) ? select(x, axis, ops::indexConstant(0)) : max(x, {axis});
    } else {
      flags.insert(flags.begin(), op->isSqueezeDim(i));
    }
  }
  return squeeze(x, flags, true);
}

/// Axes that `global` has once and `out` more often. (Others may have become axes of one element,
/// as parts.)
TensorView* repeated(TensorView* x, const TensorView* global, const TensorView* out,
                     const std::vector<Val*>& sizes) {
  const std::vector<IterDomain*> before = axesOf(global);
  const std::vector<IterDomain*> after = axesOf(out);
  std::vector<IterDomain*> axes = ops::freshAxes(x);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (before[i]->isBroadcast() && !after[i]->isBroadcast() && axes[i]->isBroadcast()) {
      axes[i] = ops::newIterAxis(sizes[i]);
    }
  }
  TensorView* result = ops::newTensor(std::move(axes), x->dtype());
  IrBuilder::create<RepeatOp>(result, x);
  return result;
}

}  // namespace

std::vector<TensorView*> defineParts(Expr* expr, const TensorView* in, const TensorView* out,
                                     const Sharding& sharding, bool sums_parts,
                                     const PartSizes& sizes) {
  const auto operand = [&](size_t i) { return expr->input(i)->as<TensorView>(); };
  if (expr->isA<ReshapeOp>()) {
    return {ops::regroup(operand(0), groupsOf(out), sizesOf(out, sharding, sizes))};
  }
  if (expr->isA<ExpandOp>()) {
    return {expand(operand(0), sizesOf(out, sharding, sizes))};
  }
  if (expr->isA<RepeatOp>()) {
    return {repeated(operand(0), in, out, sizesOf(out, sharding, sizes))};
  }
  if (expr->isA<FullOp>()) {
    return {full(sizesOf(out, sharding, sizes), expr->input(0), out->dtype())};
  }
  if (expr->isA<SqueezeOp>()) {
    return {squeezed(expr->as<SqueezeOp>(), in)};
  }
  if (sums_parts && expr->isA<LinearOp>()) {
    return {linear(operand(0), operand(1))};
  }
  return settling::redefine(expr);
}

}  // namespace nvfuser::multidevice
