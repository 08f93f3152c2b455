#include <ops/define_pointwise.h>

#include <algorithm>

#include <ir/builder.h>
#include <ops/arith.h>
#include <ops/promotion.h>
#include <ops/utils.h>

namespace nvfuser::ops {

void requireOperands(std::string_view op, const std::vector<Val*>& operands) {
  Fusion* fusion = nullptr;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Val* operand = operands[i];
    if (operand == nullptr) {
      userError(op, ": operand ", i + 1, " is null; pass a tensor or a scalar of the fusion");
    }
    if (!operand->isScalar() && !operand->isA<TensorView>()) {
      userError(op, ": operand ", i + 1, " (", operand->toInlineString(),
                ") is neither a tensor nor a scalar");
    }
    if (operand->dtype() == DataType::Null) {
      userError(op, ": operand ", i + 1, " (", operand->toInlineString(),
                ") has no data type; give it one where it is made");
    }
    if (fusion != nullptr && operand->fusion() != fusion) {
      userError(op, ": operand ", i + 1, " (", operand->toInlineString(),
                ") belongs to another Fusion than the operands before it; an operation stays "
                "within one Fusion");
    }
    fusion = operand->fusion();
  }
}

void requireAccepts(const PointwiseRow& row, std::string_view op, DataType compute) {
  if (row.accepts(compute)) {
    return;
  }
  std::vector<std::string_view> accepted;
  if (!row.boolean.text.empty()) {
    accepted.push_back("bool");
  }
  if (!row.integer.text.empty()) {
    accepted.push_back("integer");
  }
  if (!row.real.text.empty()) {
    accepted.push_back("floating-point");
  }
  if (!row.complex.text.empty()) {
    accepted.push_back("complex");
  }
  userError(op, ": not defined for operands of type ", compute, "; it takes ", join(accepted, ", "),
            " operands, so cast them first");
}

namespace {

template <typename ExprClass, typename Type, typename... Operands>
Val* defineExpr(Type type, std::string_view op, DataType dtype, const std::vector<Val*>& operands,
                Operands... operand) {
  bool any_tensor = std::any_of(operands.begin(), operands.end(),
                                [](const Val* v) { return v->isA<TensorView>(); });
  Fusion* fusion = operands.front()->fusion();
  FusionGuard guard(fusion);
  Val* out = any_tensor ? newOutputTV(operands, dtype, op)
                        : IrBuilder::createInContainer<Val>(fusion, dtype);
  IrBuilder::createInContainer<ExprClass>(fusion, type, out, operand...);
  return out;
}

/// The compute dtype of operands as they are.
DataType ownType(std::string_view op, const std::vector<Val*>& operands) {
  return computeTypes(op, TypePromotion::default_op_config, operands);
}

std::vector<Val*> castAll(const std::vector<Val*>& operands, DataType dtype) {
  std::vector<Val*> result;
  for (Val* operand : operands) {
    result.push_back(optionalCastStrict(dtype, operand));
  }
  return result;
}

template <typename Type>
Val* applyRuleTo(Type type, DtypeRule rule, std::string_view op,
                 const std::vector<Val*>& operands) {
  requireOperands(op, operands);
  const PointwiseRow& row = pointwiseRow(type);
  auto compute = [&](DataType dtype, const std::vector<Val*>& cast) {
    requireAccepts(row, op, dtype);
    return define(type, op, row.resultType(dtype), maybeBroadcast(cast));
  };
  auto promoted = [&](const TypePromotionConfig& config) {
    DataType common = computeTypes(op, config, operands);
    requireAccepts(row, op, common);
    return compute(common, promoteValues(operands, common));
  };
  switch (rule) {
    case DtypeRule::Identity:
      return define(type, op, operands[0]->dtype(), operands);
    case DtypeRule::Keep:
    case DtypeRule::Magnitude: {
      // All operands take the dtype of the first.
      DataType own = operands[0]->dtype();
      DataType full = fullPrecisionType(own);
      requireAccepts(row, op, full);
      Val* result = compute(full, castAll(operands, full));
      return full == own ? result : castOp(own, result);
    }
    case DtypeRule::RealPart:
    case DtypeRule::Predicate: {
      DataType full = fullPrecisionType(operands[0]->dtype());
      requireAccepts(row, op, full);
      return compute(full, castAll(operands, full));
    }
    case DtypeRule::Default:
    case DtypeRule::Comparison:
      return promoted(TypePromotion::default_op_config);
    case DtypeRule::Float:
      return promoted(TypePromotion::float_op_config);
    case DtypeRule::FullFloat:
      return promoted({.require_full_precision_promoted = true});
    case DtypeRule::Logical:
      return compute(DataType::Bool, castAll(operands, DataType::Bool));
    case DtypeRule::Bitwise: {
      DataType common = ownType(op, operands);
      if (!isIntegralType(common) && !isBooleanType(common)) {
        userError(op, ": Integer or boolean input is required for ", op, " but found ", common,
                  "; cast the operands first");
      }
      return compute(common, promoteValues(operands, common));
    }
    case DtypeRule::Integer: {
      DataType common = ownType(op, operands);
      if (!isIntegralType(common)) {
        userError(op, ": input must have integral type, but got ", common,
                  "; cast the operands first");
      }
      return compute(common, promoteValues(operands, common));
    }
    case DtypeRule::Select: {
      if (!isBooleanType(operands[0]->dtype())) {
        userError(op, ": Condition should be of DataType Bool, not ", operands[0]->dtype(),
                  "; compare it with something first, as in ne(x, 0)");
      }
      std::vector<Val*> values(operands.begin() + 1, operands.end());
      DataType common = computeTypes(op, TypePromotion::default_op_config, values, false);
      std::vector<Val*> cast = promoteValues(values, common);
      cast.insert(cast.begin(), operands[0]);
      return define(type, op, common, maybeBroadcast(cast));
    }
  }
  throw InternalError("a dtype rule without a meaning");
}

}  // namespace

Val* define(UnaryOpType type, std::string_view op, DataType out,
            const std::vector<Val*>& operands) {
  return defineExpr<UnaryOp>(type, op, out, operands, operands.at(0));
}

Val* define(BinaryOpType type, std::string_view op, DataType out,
            const std::vector<Val*>& operands) {
  return defineExpr<BinaryOp>(type, op, out, operands, operands.at(0), operands.at(1));
}

Val* define(TernaryOpType type, std::string_view op, DataType out,
            const std::vector<Val*>& operands) {
  return defineExpr<TernaryOp>(type, op, out, operands, operands.at(0), operands.at(1),
                               operands.at(2));
}

Val* applyRule(UnaryOpType type, DtypeRule rule, std::string_view op,
               const std::vector<Val*>& operands) {
  return applyRuleTo(type, rule, op, operands);
}

Val* applyRule(BinaryOpType type, DtypeRule rule, std::string_view op,
               const std::vector<Val*>& operands) {
  return applyRuleTo(type, rule, op, operands);
}

Val* applyRule(TernaryOpType type, DtypeRule rule, std::string_view op,
               const std::vector<Val*>& operands) {
  return applyRuleTo(type, rule, op, operands);
}

}  // namespace nvfuser::ops
