#include <ops/promotion.h>

#include <ir/builder.h>
#include <ops/arith.h>
#include <ops/table/pointwise.h>
#include <ops/utils.h>

namespace nvfuser {

namespace {

/// Whether no integer type holds the values of both: unsigned ones of 64 bits, and signed ones.
bool haveNoCommonInteger(DataType a, DataType b) {
  auto isWide = [](DataType t) { return isUnsignedIntegralType(t) && dataTypeSizeBit(t) == 64; };
  auto isSigned = [](DataType t) { return isIntegralType(t) && !isUnsignedIntegralType(t); };
  return (isWide(a) && isSigned(b)) || (isSigned(a) && isWide(b));
}

/// The common types of the three tiers; Null where a tier has no operand.
struct Tiers {
  DataType tensors = DataType::Null;
  DataType zero_dim_tensors = DataType::Null;
  DataType scalars = DataType::Null;
};

/// Of elements: kernels may count in 32 bits, where an Index has no room for what an integer of 64
/// bits can hold.
DataType promoteElements(DataType a, DataType b) {
  const DataType other = a == DataType::Index ? b : a;
  const bool one_counts = (a == DataType::Index) != (b == DataType::Index);
  const bool is_long = isIntegralType(other) && dataTypeSizeBit(other) == 64;
  return one_counts && is_long ? other : promoteType(a, b);
}

void requireCommonInteger(std::string_view op, DataType a, DataType b) {
  if (a != DataType::Index && b != DataType::Index && haveNoCommonInteger(a, b)) {
    userError(op, ": no integer type holds the values of ", a, " and of ", b,
              "; cast one of the operands to the other's type, or both to double");
  }
}

Tiers tiersOf(std::string_view op, std::span<Val* const> operands) {
  Tiers tiers;
  for (const Val* operand : operands) {
    if (!operand->isA<TensorView>()) {
      tiers.scalars = promoteType(tiers.scalars, fullPrecisionType(operand->dtype()));
    } else if (ops::rankOf(operand->as<TensorView>()) == 0) {
      tiers.zero_dim_tensors = promoteElements(tiers.zero_dim_tensors, operand->dtype());
    } else {
      requireCommonInteger(op, tiers.tensors, operand->dtype());
      tiers.tensors = promoteElements(tiers.tensors, operand->dtype());
    }
  }
  return tiers;
}

/// The type of a tier where a lower one joins it.
DataType combineTiers(DataType higher, DataType lower) {
  if (higher == DataType::Null || lower == DataType::Null) {
    return promoteType(higher, lower);
  }
  if (isComplexType(higher)) {
    return higher;
  }
  if (isFloatingPointType(higher)) {
    return isComplexType(lower) ? getComplexTypeFromType(higher) : higher;
  }
  bool lower_is_wider_category = isFloatingPointType(lower) || isComplexType(lower);
  return isBooleanType(higher) || lower_is_wider_category ? promoteType(higher, lower) : higher;
}

}  // namespace

DataType fullPrecisionType(DataType dtype) {
  return isReducedPrecisionFloat(dtype) ? DataType(DataType::Float) : dtype;
}

DataType computeTypes(std::string_view op, const TypePromotionConfig& config,
                      std::span<Val* const> operands, bool cast_half_to_float) {
  Tiers tiers = tiersOf(op, operands);
  DataType common =
      combineTiers(tiers.tensors, combineTiers(tiers.zero_dim_tensors, tiers.scalars));
  if (config.promote_integer_inputs_to_float && (isIntegralType(common) || isBooleanType(common))) {
    common = DataType::Float;
  }
  if (cast_half_to_float) {
    common = fullPrecisionType(common);
  }
  if (config.require_full_precision_promoted && common != DataType::Float &&
      common != DataType::Double) {
    userError(op, ": Promoted type must be single or double precision float but found ", common,
              "; cast an operand to Float or Double");
  }
  return common;
}

std::vector<Val*> promoteValues(std::span<Val* const> operands, DataType common_type) {
  std::vector<Val*> promoted;
  promoted.reserve(operands.size());
  for (Val* operand : operands) {
    promoted.push_back(optionalCast(common_type, operand));
  }
  return promoted;
}

Val* optionalCast(DataType dtype, Val* v) {
  bool same_category = numberClass(v->dtype()) == numberClass(dtype);
  if (!v->isA<TensorView>() && same_category) {
    return v;
  }
  return optionalCastStrict(dtype, v);
}

Val* optionalCastStrict(DataType dtype, Val* v) {
  if (v->dtype() == dtype) {
    return v;
  }
  if (v->isConst()) {
    return IrBuilder::createInContainer<Val>(v->fusion(), castToDtype(v->value(), dtype), dtype);
  }
  return castOp(dtype, v);
}

}  // namespace nvfuser
