#include <ops/axes.h>

#include <algorithm>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/indexing.h>

namespace nvfuser::ops {

void requireTensor(const TensorView* tv, std::string_view op) {
  if (tv == nullptr) {
    userError(op, ": the operand is null; a tensor is needed");
  }
}

void requireScalar(const Val* v, std::string_view name, std::string_view op) {
  if (v == nullptr || !v->isScalar()) {
    userError(op, ": ", name, " must be a scalar, got ", v);
  }
}

void requireReal(const TensorView* tv, std::string_view op) {
  requireTensor(tv, op);
  if (isComplexType(tv->dtype())) {
    userError(op, ": ", tv, " has dtype ", tv->dtype(), "; a tensor of real numbers is needed");
  }
}

std::vector<IterDomain*> axesOf(const TensorView* tv) {
  return TensorDomain::noReductions(tv->getLogicalDomain());
}

std::vector<int64_t> reducedAxes(const TensorView* out) {
  std::vector<int64_t> axes;
  const auto& root = out->getMaybeRootDomain();
  for (size_t i = 0; i < root.size(); ++i) {
    if (root[i]->isReduction()) {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  return axes;
}

std::vector<IterDomain*> freshAxes(const TensorView* tv) {
  std::vector<IterDomain*> fresh;
  for (IterDomain* id : axesOf(tv)) {
    const bool keeps_kind = id->isBroadcast() || id->isSymbolic();
    fresh.push_back(IterDomainBuilder(id)
                        .resetSchedulingParams()
                        .resetRfactor()
                        .iter_type(keeps_kind ? id->getIterType() : IterType::Iteration)
                        .build());
  }
  return fresh;
}

IterDomain* newIterAxis(Val* extent) {
  Val* index = SimplifyingIrBuilder::maybeCastExpr(DataType::Index, extent);
  return IterDomainBuilder(extent->fusion()->zeroVal(DataType::Index), index)
      .iter_type(iterTypeOf(index))
      .build();
}

IterDomain* newAxis(Val* extent) {
  return constantOf(extent) == 1 ? newBroadcastAxis() : newIterAxis(extent);
}

IterDomain* newOwnAxis(const IterDomain* id) {
  if (id->isBroadcast() && !id->hasExpandedExtent()) {
    return newBroadcastAxis();
  }
  return newIterAxis(extentOf(id));
}

std::string describe(const TensorView* tv) {
  return text(
      tv->toInlineString(), " of shape [",
      join(axesOf(tv), ", ", [](const IterDomain* id) { return extentOf(id)->toInlineString(); }),
      "] and dtype ", tv->dtype());
}

IterDomain* newBroadcastAxis(Val* expanded_extent) {
  IterDomainBuilder axis(indexConstant(0), indexConstant(1));
  axis.iter_type(IterType::Broadcast);
  if (expanded_extent) {
    axis.expanded_extent(SimplifyingIrBuilder::maybeCastExpr(DataType::Index, expanded_extent));
  }
  return axis.build();
}

IterDomain* resizeAxis(IterDomain* in, Val* left, Val* right, Val* extent, int64_t step) {
  check(!in->isBroadcast(), "only iterated axes are resized; broadcast ones are made real before");
  Fusion* fusion = in->fusion();
  Val* index = SimplifyingIrBuilder::maybeCastExpr(DataType::Index, extent);
  IterDomain* out = IterDomainBuilder(fusion->zeroVal(DataType::Index), index)
                        .iter_type(iterTypeOf(index))
                        .is_rfactor_domain(true)
                        .build();
  IrBuilder::createInContainer<Resize>(fusion, out, in, left, right, step);
  return out;
}

TensorView* newTensor(std::vector<IterDomain*> logical, DataType dtype) {
  Contiguity contiguity = TensorDomain::getContiguityFilledWith(logical, true);
  return IrBuilder::create<TensorView>(
      IrBuilder::create<TensorDomain>(std::move(logical), std::move(contiguity)), dtype);
}

TensorView* newTensor(std::vector<IterDomain*> root, std::vector<IterDomain*> logical,
                      DataType dtype) {
  Contiguity contiguity = TensorDomain::getContiguityFilledWith(logical, true);
  auto* domain =
      IrBuilder::create<TensorDomain>(std::move(root), logical, logical, std::move(contiguity));
  return IrBuilder::create<TensorView>(domain, dtype);
}

std::optional<int64_t> constantOf(const Val* val) {
  if (val == nullptr || !val->isConst() || !isIntegralType(val->dtype())) {
    return std::nullopt;
  }
  return val->value().as<int64_t>();
}

Val* indexConstant(int64_t value) {
  return IrBuilder::create<Val>(PolymorphicValue(value), DataType(DataType::Index));
}

bool isUnitAxis(const IterDomain* id) { return constantOf(extentOf(id)) == 1; }

namespace {

/// It may make a longer axis of one of one element, by itself.
bool stretches(const Expr* expr) { return expr->isOneOf<ExpandOp, RepeatOp>(); }

/// Extents that decide how long an axis is: of the axes that it comes from without a change of
/// size, each once.
std::vector<Val*> decidingExtents(const TensorView* tv, const IterDomain* axis) {
  std::vector<Val*> found;
  std::vector<std::pair<const TensorView*, const IterDomain*>> open{{tv, axis}};
  std::unordered_set<const IterDomain*> seen;
  while (!open.empty()) {
    const auto [owner, id] = open.back();
    open.pop_back();
    if (!seen.insert(id).second) {
      continue;
    }
    const Expr* def = owner->definition();
    bool is_taken = false;
    const std::vector<TensorView*> operands =
        def == nullptr || owner->isFusionInput() ? std::vector<TensorView*>() : tensorInputs(def);
    for (auto in = operands.rbegin(); in != operands.rend(); ++in) {
      for (auto [from, to] : mapAxes(def, *in, owner)) {
        const bool passes = stretches(def) ? extentOf(from)->sameAs(extentOf(id))
                                           : !from->isBroadcast() || from->hasExpandedExtent();
        if (to == id && passes) {
          is_taken = true;
          open.emplace_back(*in, from);
        }
      }
    }
    Val* extent = extentOf(id);
    if (!is_taken && std::none_of(found.begin(), found.end(),
                                  [&](const Val* other) { return other->sameAs(extent); })) {
      found.push_back(extent);
    }
  }
  return found;
}

}  // namespace

std::vector<Val*> sizesOf(const TensorView* tv) {
  std::vector<Val*> sizes;
  for (const IterDomain* id : axesOf(tv)) {
    Val* size = extentOf(id);
    if (!size->isConst()) {
      const std::vector<Val*> deciding = decidingExtents(tv, id);
      if (deciding.size() > 1) {
        // The first that is not 1; the last one where all others are.
        size = deciding.back();
        for (size_t i = deciding.size() - 1; i-- > 0;) {
          Val* one = size->fusion()->oneVal(deciding[i]->dtype());
          size = SimplifyingIrBuilder::whereExpr(SimplifyingIrBuilder::eqExpr(deciding[i], one),
                                                 size, deciding[i]);
        }
      }
    }
    sizes.push_back(size);
  }
  return sizes;
}

TensorView* materialize(TensorView* tv, const std::vector<bool>& which) {
  std::vector<IterDomain*> axes = freshAxes(tv);
  check(which.size() == axes.size(), "a flag for each axis");
  bool any = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!which[i] || !axes[i]->isBroadcast()) {
      continue;
    }
    axes[i] = newIterAxis(extentOf(axes[i]));
    any = true;
  }
  if (!any) {
    return tv;
  }
  TensorView* out = newTensor(std::move(axes), tv->dtype());
  IrBuilder::create<RepeatOp>(out, tv);
  return out;
}

TensorView* dropUnitAxis(TensorView* tv, size_t axis) {
  if (!axesOf(tv).at(axis)->isBroadcast()) {
    return select(tv, static_cast<int64_t>(axis), indexConstant(0));
  }
  return squeeze(tv, std::vector<int64_t>{static_cast<int64_t>(axis)}, true);
}

TensorView* asBroadcast(TensorView* tv, size_t axis) {
  std::vector<bool> is_new(axesOf(tv).size(), false);
  is_new.at(axis) = true;
  return nvfuser::broadcast(dropUnitAxis(tv, axis), is_new);
}

}  // namespace nvfuser::ops
