#include <ir/internal_base_nodes.h>

#include <ir/builder.h>
#include <ir/field_values.h>

namespace nvfuser {

IterDomainBuilder::IterDomainBuilder(const IterDomain* id) : fields_(id->fields()) {
  fields_.is_clustered = false;  // which is said of an axis, not of what it is made from
}

IterDomainBuilder& IterDomainBuilder::resetSchedulingParams() {
  fields_.parallel_type = ParallelType::Serial;
  fields_.is_padded = false;
  fields_.padded_to = std::nullopt;
  return *this;
}

IterDomain* IterDomainBuilder::build() const {
  Fusion* fusion = fields_.extent->fusion();
  if (fields_.iter_type == IterType::Symbolic && fusion->axesAreSettled()) {
    return IterDomainBuilder(*this).iter_type(IterType::Iteration).build();
  }
  return IrBuilder::createInContainer<IterDomain>(fusion, fields_);
}

IterDomain::IterDomain(IrBuilderPasskey passkey, AxisFields fields)
    : Val(passkey, ValType::IterDomain, DataType::Index), fields_(fields) {
  check(fields_.extent != nullptr && fields_.start != nullptr,
        "an axis needs a start and an extent");
  check(isIntegralType(fields_.extent->dtype()), "the extent of an axis is an integer");
}

bool isComputedExtent(const Val* extent) {
  return !extent->isConst() && extent->definition() != nullptr;
}

IterType iterTypeOf(const Val* extent) {
  return isComputedExtent(extent) ? IterType::Symbolic : IterType::Iteration;
}

std::optional<IterType> mergedIterType(IterType outer, IterType inner) {
  using enum IterType;
  if (outer == inner || inner == Broadcast) {
    return outer;
  }
  switch (outer) {
    case Broadcast:
      return inner;
    case Iteration:
      return inner == Symbolic ? std::optional(Symbolic) : std::nullopt;
    case Symbolic:
      return inner == Iteration ? std::optional(Symbolic) : std::nullopt;
    case Reduction:
    case Stride:
    case GatherScatter:
    case VectorComponent:
      return std::nullopt;
  }
  throw InternalError("an axis of an unknown kind");
}

namespace {

/// How many parts of `factor` an extent has. x · factor has x and the factor itself has 1, also
/// where the factor turns out to be 0: nothing is divided then.
Val* partsOf(Val* extent, Val* factor) {
  const Expr* def = extent->definition();
  if (extent->sameAs(factor)) {
    return extent->fusion()->oneVal(DataType::Index);
  }
  if (def != nullptr && def->isA<BinaryOp>() && !factor->isConst() &&
      def->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Mul) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (def->input(i)->sameAs(factor)) {
        return def->input(1 - i);
      }
    }
  }
  return SimplifyingIrBuilder::ceilDivExpr(extent, factor);
}

/// The kind of an axis made from one of kind `from`.
IterType madeIterType(IterType from, const Val* extent, bool by_operation) {
  const bool is_iterated = from == IterType::Iteration || from == IterType::Symbolic;
  return by_operation && is_iterated ? iterTypeOf(extent) : from;
}

}  // namespace

IterDomain* IterDomain::merge(IterDomain* outer, IterDomain* inner,
                              std::optional<bool> rfactor_domain,
                              std::optional<IterType> iter_type) {
  Fusion* fusion = outer->fusion();
  Val* extent = SimplifyingIrBuilder::mulExpr(outer->extent(), inner->extent());
  const std::optional<IterType> common =
      iter_type ? iter_type : mergedIterType(outer->getIterType(), inner->getIterType());
  if (!common) {
    userError("merge: axes ", outer->toString(), " and ", inner->toString(),
              " are of different kinds; an iterated axis cannot be merged with a reduction");
  }
  const bool by_operation = rfactor_domain.value_or(false);
  const IterType merged = iter_type ? *common : madeIterType(*common, extent, by_operation);
  IterDomainBuilder builder(fusion->zeroVal(DataType::Index), extent);
  builder.iter_type(merged).is_rfactor_domain(by_operation);
  if (merged == IterType::Broadcast && (outer->hasExpandedExtent() || inner->hasExpandedExtent())) {
    builder.expanded_extent(SimplifyingIrBuilder::mulExpr(outer->getMaybeExpandedExtent(),
                                                          inner->getMaybeExpandedExtent()));
  }
  IterDomain* out = builder.build();
  IrBuilder::createInContainer<Merge>(fusion, out, outer, inner);
  return out;
}

std::pair<IterDomain*, IterDomain*> IterDomain::split(IterDomain* in, Val* factor, bool inner_split,
                                                      std::optional<bool> rfactor_domain,
                                                      std::optional<IterType> outer_iter_type,
                                                      std::optional<IterType> inner_iter_type) {
  Fusion* fusion = in->fusion();
  Val* remainder = partsOf(in->extent(), factor);
  const bool by_operation = rfactor_domain.value_or(false);
  auto piece = [&](Val* extent, std::optional<IterType> type) {
    IterDomainBuilder builder(fusion->zeroVal(DataType::Index), extent);
    builder.iter_type(type.value_or(madeIterType(in->getIterType(), extent, by_operation)))
        .is_rfactor_domain(by_operation);
    return builder;
  };
  IterDomainBuilder outer = piece(inner_split ? remainder : factor, outer_iter_type);
  IterDomainBuilder inner = piece(inner_split ? factor : remainder, inner_iter_type);
  if (in->hasExpandedExtent()) {
    Val* rest = SimplifyingIrBuilder::ceilDivExpr(in->expandedExtent(), factor);
    outer.expanded_extent(inner_split ? rest : factor);
    inner.expanded_extent(inner_split ? factor : rest);
  }
  IterDomain* outer_id = outer.build();
  IterDomain* inner_id = inner.build();
  IrBuilder::createInContainer<Split>(fusion, outer_id, inner_id, in, factor, inner_split);
  return {outer_id, inner_id};
}

IterDomain* IterDomain::resize(IterDomain* in, Val* left, Val* right, bool mark_as_rfactor,
                               std::optional<IterType> iter_type) {
  Fusion* fusion = in->fusion();
  Val* extent = SimplifyingIrBuilder::addExpr(
      SimplifyingIrBuilder::addExpr(in->getMaybeExpandedExtent(), left), right);
  const IterType from = in->isBroadcast() ? IterType::Iteration : in->getIterType();
  const IterType type = iter_type.value_or(madeIterType(from, extent, mark_as_rfactor));
  IterDomain* out = IterDomainBuilder(fusion->zeroVal(DataType::Index), extent)
                        .iter_type(type)
                        .is_rfactor_domain(mark_as_rfactor)
                        .build();
  IrBuilder::createInContainer<Resize>(fusion, out, in, left, right);
  return out;
}

std::pair<IterDomain*, IterDomain*> IterDomain::swizzle(SwizzleType type, IterDomain* x,
                                                        IterDomain* y, SwizzleMode mode) {
  auto copy = [](IterDomain* id) {
    return IterDomainBuilder(id).resetSchedulingParams().resetRfactor().build();
  };
  IterDomain* out_x = copy(x);
  IterDomain* out_y = copy(y);
  IrBuilder::createInContainer<Swizzle>(x->fusion(), out_x, out_y, x, y, type, mode);
  return {out_x, out_y};
}

std::vector<IterDomain*> IterDomain::clone(const std::vector<IterDomain*>& domains) {
  std::vector<IterDomain*> result;
  result.reserve(domains.size());
  for (IterDomain* id : domains) {
    result.push_back(id->cloneWithoutRFactor());
  }
  return result;
}

IterDomain* IterDomain::cloneWithoutRFactor(bool) {
  return IterDomainBuilder(this).resetSchedulingParams().resetRfactor().build();
}

void IterDomain::parallelize(ParallelType type) {
  if (type == ParallelType::Count || type == ParallelType::Stream || type == ParallelType::Mma) {
    userError("parallelize: axis ", toString(), " cannot be bound to ", parallelTypeName(type),
              "; device, block, thread, Vectorize, Unroll, Unswitch, Group, Bulk and Serial are "
              "supported");
  }
  if (type == ParallelType::Vectorize && !fields_.extent->isConstScalar()) {
    userError("parallelize: axis ", toString(),
              " cannot be vectorized: its extent is not a constant; split it by the vector width "
              "first");
  }
  fields_.parallel_type = type;
}

void IterDomain::padToMultipleOfWarp(std::optional<int64_t> to_size) {
  const bool divides_warp = to_size && *to_size > 0 && *to_size <= 32 && 32 % *to_size == 0;
  if (to_size && !divides_warp && (*to_size <= 0 || *to_size % 32 != 0)) {
    userError("padToMultipleOfWarp: axis ", toString(), " cannot be padded to ", *to_size,
              "; the size must be a positive multiple of 32, or divide it");
  }
  fields_.is_padded = true;
  fields_.padded_to = to_size;
}

bool IterDomain::sameAs(const Statement* other) const {
  return this == other || (other != nullptr && other->isA<IterDomain>() &&
                           sameFields(fields_, other->as<IterDomain>()->fields_));
}

}  // namespace nvfuser
