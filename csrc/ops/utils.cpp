#include <ops/utils.h>

#include <algorithm>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/axes.h>
#include <ops/table/pointwise.h>

namespace nvfuser::ops {

Val* simplifiedInt(Val* val) {
  check(val->isIntegralScalar(), "simplifiedInt takes integer scalars");
  if (!val->isConst() || val->dtype() == DataType::Int) {
    return val;
  }
  return IrBuilder::createInContainer<Val>(val->fusion(), val->value(), DataType::Int);
}

Val* promoteSize(Val* v1, Val* v2) {
  if (v1 == nullptr) {
    return v2;
  }
  if (v2 == nullptr || v1 == v2) {
    return v1;
  }
  std::optional<int64_t> c1 = constantOf(v1);
  std::optional<int64_t> c2 = constantOf(v2);
  if (c1 && c2 && *c1 != *c2) {
    userError("sizes do not agree: ", *c1, " and ", *c2);
  }
  return !c1 && c2 ? v2 : v1;
}

Val* newScalar(ValType vtype, DataType dtype) {
  check(vtype == ValType::Others, "newScalar makes plain scalars");
  return IrBuilder::create<Val>(dtype);
}

IterType promoteIterType(IterType type1, IterType type2) {
  using enum IterType;
  // From what yields to what wins.
  auto rank = [](IterType type) {
    switch (type) {
      case Broadcast:
        return 0;
      case Symbolic:
        return 1;
      case GatherScatter:
        return 2;
      case VectorComponent:
        return 3;
      case Iteration:
        return 4;
      case Reduction:
      case Stride:
        break;
    }
    throw InternalError("axes of these kinds do not meet in one operation");
  };
  return rank(type1) >= rank(type2) ? type1 : type2;
}

namespace {

/// The extent of two axes that meet, neither of them known to be stretched. Of two declared sizes
/// the first one names both. A computed size may come out as 1, and is stretched then.
Val* commonExtent(Val* a, Val* b) {
  if (a == nullptr || b == nullptr || a == b || a->sameAs(b)) {
    return a != nullptr ? a : b;
  }
  const std::optional<int64_t> first = constantOf(a);
  const std::optional<int64_t> second = constantOf(b);
  if (first && second) {
    return promoteSize(a, b);
  }
  if (first || second) {
    Val* constant = first ? a : b;
    Val* other = first ? b : a;
    return constantOf(constant) == 1 ? other : constant;
  }
  if (a->definition() == nullptr && b->definition() == nullptr) {
    return a;
  }
  // The computed one decides: where it is 1, the result is as long as the other.
  Val* computed = a->definition() != nullptr ? a : b;
  Val* other = computed == a ? b : a;
  Val* is_one =
      SimplifyingIrBuilder::eqExpr(computed, computed->fusion()->oneVal(computed->dtype()));
  return SimplifyingIrBuilder::whereExpr(is_one, other, computed);
}

}  // namespace

IterDomain* newOutputIterDomain(const std::vector<IterDomain*>& input_ids,
                                std::optional<IterType> force_iter_type, std::string_view what) {
  check(!input_ids.empty(), "an axis is made from at least one");
  IterType type = input_ids.front()->getIterType();
  Val* extent = nullptr;
  Val* expanded = nullptr;
  for (const IterDomain* id : input_ids) {
    type = promoteIterType(type, id->getIterType());
    Val*& known = id->isBroadcast() ? expanded : extent;
    Val* here = id->isBroadcast() ? id->expandedExtent() : id->extent();
    // An expanded broadcast axis must have the length of the concrete ones as well.
    for (Val* other : {extent, expanded}) {
      std::optional<int64_t> a = other ? constantOf(other) : std::nullopt;
      std::optional<int64_t> b = here ? constantOf(here) : std::nullopt;
      if (a && b && *a != *b) {
        userError(what, ": sizes of corresponding axes do not agree: ", *a, " and ", *b,
                  "; only an axis of size 1 goes with any other");
      }
    }
    known = commonExtent(known, here);
  }
  Fusion* fusion = input_ids.front()->fusion();
  type = force_iter_type.value_or(type);
  if (type == IterType::Broadcast) {
    return IterDomainBuilder(fusion->zeroVal(DataType::Index), fusion->oneVal(DataType::Index))
        .iter_type(type)
        .expanded_extent(expanded)
        .build();
  }
  Val* common = commonExtent(extent, expanded);
  common = common != nullptr ? common : fusion->oneVal(DataType::Index);
  // What an axis was made by is its producer's matter: of the new one, its size alone tells.
  return IterDomainBuilder(fusion->zeroVal(DataType::Index), common)
      .iter_type(force_iter_type.value_or(iterTypeOf(common)))
      .build();
}

IterDomain* newAxisLike(const IterDomain* id, std::optional<IterType> iter_type) {
  Fusion* fusion = id->fusion();
  IterType type = iter_type.value_or(id->getIterType());
  if (type == IterType::Broadcast) {
    return IterDomainBuilder(fusion->zeroVal(DataType::Index), fusion->oneVal(DataType::Index))
        .expanded_extent(id->expandedExtent())
        .iter_type(type)
        .build();
  }
  return IterDomainBuilder(fusion->zeroVal(DataType::Index), id->getMaybeExpandedExtent())
      .iter_type(type)
      .build();
}

namespace {

std::string describeOperand(const TensorView* tv, size_t position) {
  std::string axes = join(TensorDomain::noReductions(tv->getLogicalDomain()), ", ",
                          [](const IterDomain* id) { return extentOf(id)->toInlineString(); });
  return text("operand ", position + 1, " (", tv->toInlineString(), ") has shape [", axes, "]");
}

}  // namespace

std::vector<IterDomain*> newOutputDomain(const std::vector<Val*>& vals, std::string_view op) {
  std::vector<std::vector<IterDomain*>> domains;
  std::vector<size_t> places;
  auto described = [&](size_t tensor) {
    return describeOperand(vals[places[tensor]]->as<TensorView>(), places[tensor]);
  };
  for (size_t i = 0; i < vals.size(); ++i) {
    if (!vals[i]->isA<TensorView>()) {
      continue;
    }
    places.push_back(i);
    domains.push_back(TensorDomain::noReductions(vals[i]->as<TensorView>()->getLogicalDomain()));
    if (domains.back().size() != domains.front().size()) {
      userError(op, ": operands have ", domains.front().size(), " and ", domains.back().size(),
                " axes: ", described(0), ", ", described(places.size() - 1),
                "; bring them to the same number of axes with broadcast()");
    }
  }
  check(!domains.empty(), "newOutputDomain needs a tensor among the operands");
  std::vector<IterDomain*> out;
  for (size_t axis = 0; axis < domains.front().size(); ++axis) {
    std::vector<IterDomain*> meeting;
    for (const auto& domain : domains) {
      meeting.push_back(domain[axis]);
    }
    try {
      out.push_back(newOutputIterDomain(meeting, std::nullopt, op));
    } catch (const UserError& error) {
      userError(error.what(), "\n  note: axis ", axis, "; ", join(places, ", ", [&](size_t place) {
                  return describeOperand(vals[place]->as<TensorView>(), place);
                }));
    }
  }
  return out;
}

TensorView* newOutputTV(const std::vector<Val*>& vals, DataType dtype, std::string_view op) {
  return newTensor(newOutputDomain(vals, op), dtype);
}

TensorView* newValLike(TensorView* val, DataType dtype) { return newOutputTV({val}, dtype); }

Val* newValLike(Val* val, DataType dtype) {
  if (val->isA<TensorView>()) {
    return newValLike(val->as<TensorView>(), dtype);
  }
  return IrBuilder::createInContainer<Val>(val->fusion(), dtype);
}

TensorView* maybe_broadcast_inner_to_rank(TensorView* t, size_t rank) {
  const auto own = static_cast<size_t>(rankOf(t));
  if (own >= rank) {
    return t;
  }
  std::vector<bool> is_new(rank, false);
  std::fill_n(is_new.begin(), rank - own, true);
  return broadcast(t, is_new);
}

namespace {

bool isStretchable(const IterDomain* id) { return isUnitAxis(id) && !id->isBroadcast(); }

/// Where one operand has one element and another more, the one has a broadcast axis, also if it is
/// a loop where it is computed (in a scatter, say).
void stretchUnits(std::vector<Val*>& operands, size_t axis) {
  const auto axisOfOperand = [&](const Val* operand) -> const IterDomain* {
    return operand->isA<TensorView>() ? axesOf(operand->as<TensorView>()).at(axis) : nullptr;
  };
  const bool has_more = std::any_of(operands.begin(), operands.end(), [&](const Val* operand) {
    const IterDomain* id = axisOfOperand(operand);
    return id != nullptr && !isUnitAxis(id);
  });
  for (Val*& operand : operands) {
    const IterDomain* id = axisOfOperand(operand);
    if (has_more && id != nullptr && isStretchable(id)) {
      operand = asBroadcast(operand->as<TensorView>(), axis);
    }
  }
}

}  // namespace

std::vector<Val*> maybeBroadcast(const std::vector<Val*>& vals) {
  size_t rank = 0;
  for (Val* val : vals) {
    if (val->isA<TensorView>()) {
      rank = std::max(rank, static_cast<size_t>(rankOf(val->as<TensorView>())));
    }
  }
  std::vector<Val*> result;
  for (Val* val : vals) {
    bool is_tensor = val->isA<TensorView>();
    result.push_back(is_tensor ? maybe_broadcast_inner_to_rank(val->as<TensorView>(), rank) : val);
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    stretchUnits(result, axis);
  }
  return result;
}

bool isIndexAlreadyBroadcast(const std::vector<IterDomain*>& index_domain, size_t dim,
                             size_t rank) {
  if (index_domain.size() != rank) {
    return false;
  }
  for (size_t i = 0; i < rank; ++i) {
    if (i != dim && !index_domain[i]->isBroadcast()) {
      return false;
    }
  }
  return true;
}

TensorView* maybeBroadcastIndexTv(TensorView* t, size_t dim, size_t rank) {
  auto domain = TensorDomain::noReductions(t->getLogicalDomain());
  if (isIndexAlreadyBroadcast(domain, dim, rank)) {
    return t;
  }
  check(domain.size() == 1 && dim < rank, "an index of one axis is broadcast to a rank");
  std::vector<bool> is_new(rank, true);
  is_new[dim] = false;
  return broadcast(t, is_new);
}

namespace {

std::vector<int64_t> sortedAxes(const std::vector<int64_t>& axes, int64_t ndims,
                                std::string_view op, std::string_view tensor) {
  std::vector<int64_t> result;
  for (int64_t axis : axes) {
    result.push_back(wrapDim(axis, ndims, op, tensor));
  }
  std::sort(result.begin(), result.end());
  auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end()) {
    userError(op, ": axis ", *twice, " is given twice; name each axis once");
  }
  return result;
}

}  // namespace

std::vector<int64_t> canonicalizeAxes(const std::vector<int64_t>& axes, const TensorView* tv,
                                      std::string_view op) {
  return sortedAxes(axes, rankOf(tv), op, tv->toInlineString());
}

std::vector<int64_t> canonicalizeAxes(const std::vector<int64_t>& axes, int64_t ndims,
                                      std::string_view op) {
  return sortedAxes(axes, ndims, op, "");
}

Val* getMinimumValue(DataType dtype) {
  const auto least = leastValue(dtype);
  if (!least) {
    userError("values of type ", dtype, " have no order, so there is no least one");
  }
  return IrBuilder::create<Val>(*least, dtype);
}

Val* getMaximumValue(DataType dtype) {
  const auto greatest = greatestValue(dtype);
  if (!greatest) {
    userError("values of type ", dtype, " have no order, so there is no greatest one");
  }
  return IrBuilder::create<Val>(*greatest, dtype);
}

Val* binOpIdentity(BinaryOpType op_type, DataType dtype) {
  const Identity identity = pointwiseRow(op_type).identity;
  if (identity == Identity::Lowest || identity == Identity::Highest) {
    return identity == Identity::Lowest ? getMinimumValue(dtype) : getMaximumValue(dtype);
  }
  const auto value = identityValue(op_type, dtype);
  return value ? IrBuilder::create<Val>(*value, dtype) : nullptr;
}

int64_t rankOf(const TensorView* tv) {
  return static_cast<int64_t>(TensorDomain::noReductions(tv->getLogicalDomain()).size());
}

}  // namespace nvfuser::ops
