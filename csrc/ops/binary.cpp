/// The pointwise functions of two operands.
#include <ir/builder.h>
#include <ops/arith.h>
#include <ops/define_pointwise.h>
#include <ops/utils.h>

namespace nvfuser {

using ops::applyRule;

Val* binaryOp(BinaryOpType type, Val* v1, Val* v2, DataType out_dtype) {
  const PointwiseRow& row = pointwiseRow(type);
  ops::requireOperands(row.name, {v1, v2});
  std::vector<Val*> operands = {v1, v2};
  DataType own = computeTypes(row.name, TypePromotion::default_op_config, operands, false);
  DataType full = fullPrecisionType(own);
  ops::requireAccepts(row, row.name, full);
  // The natural result in the operands' own precision.
  bool same_kind = row.result == ResultKind::Same;
  if (out_dtype == DataType::Null) {
    out_dtype = same_kind ? own : row.resultType(full);
  }
  std::vector<Val*> cast;
  for (Val* operand : operands) {
    bool is_reduced = isReducedPrecisionFloat(operand->dtype());
    cast.push_back(is_reduced ? optionalCastStrict(DataType::Float, operand) : operand);
  }
  DataType result = fullPrecisionType(out_dtype);
  Val* out = ops::define(type, row.name, result, ops::maybeBroadcast(cast));
  return result == out_dtype ? out : castOp(out_dtype, out);
}

Val* binaryOp(BinaryOpType type, Val* v1, Val* v2, const TypePromotionConfig& config) {
  const PointwiseRow& row = pointwiseRow(type);
  ops::requireOperands(row.name, {v1, v2});
  std::vector<Val*> operands = {v1, v2};
  DataType common = computeTypes(row.name, config, operands);
  ops::requireAccepts(row, row.name, common);
  return ops::define(type, row.name, row.resultType(common),
                     ops::maybeBroadcast(promoteValues(operands, common)));
}

// The overloads with a tensor, from the one with values.
#define NVFUSER_TENSOR_BINARY(Left, Right, Last, last)                                           \
  TensorView* binaryOp(BinaryOpType type, Left* v1, Right* v2, Last last) {                      \
    return binaryOp(type, static_cast<Val*>(v1), static_cast<Val*>(v2), last)->as<TensorView>(); \
  }
NVFUSER_TENSOR_BINARY(TensorView, Val, DataType, out_dtype)
NVFUSER_TENSOR_BINARY(Val, TensorView, DataType, out_dtype)
NVFUSER_TENSOR_BINARY(TensorView, TensorView, DataType, out_dtype)
NVFUSER_TENSOR_BINARY(TensorView, Val, const TypePromotionConfig&, config)
NVFUSER_TENSOR_BINARY(Val, TensorView, const TypePromotionConfig&, config)
NVFUSER_TENSOR_BINARY(TensorView, TensorView, const TypePromotionConfig&, config)
#undef NVFUSER_TENSOR_BINARY

namespace {

/// Bits of Bool are truth values: their operations are the logical ones.
std::optional<BinaryOpType> logicalForm(BinaryOpType type) {
  switch (type) {
    case BinaryOpType::BitwiseAnd:
      return BinaryOpType::LogicalAnd;
    case BinaryOpType::BitwiseOr:
      return BinaryOpType::LogicalOr;
    case BinaryOpType::BitwiseXor:
      return BinaryOpType::NE;
    default:
      return std::nullopt;
  }
}

Val* callBinary(BinaryOpType type, DtypeRule rule, std::string_view op, Val* v1, Val* v2) {
  ops::requireOperands(op, {v1, v2});
  if (rule == DtypeRule::Bitwise && isBooleanType(v1->dtype()) && isBooleanType(v2->dtype())) {
    return applyRule(*logicalForm(type), DtypeRule::Logical, op, {v1, v2});
  }
  return applyRule(type, rule, op, {v1, v2});
}

}  // namespace

#define BINARY(name, type, rule, python, doc)                                    \
  Val* name(Val* v1, Val* v2) {                                                  \
    return callBinary(BinaryOpType::type, DtypeRule::rule, #name, v1, v2);       \
  }                                                                              \
  TensorView* name(TensorView* v1, Val* v2) {                                    \
    return name(static_cast<Val*>(v1), v2)->as<TensorView>();                    \
  }                                                                              \
  TensorView* name(Val* v1, TensorView* v2) {                                    \
    return name(v1, static_cast<Val*>(v2))->as<TensorView>();                    \
  }                                                                              \
  TensorView* name(TensorView* v1, TensorView* v2) {                             \
    return name(static_cast<Val*>(v1), static_cast<Val*>(v2))->as<TensorView>(); \
  }
#include <ops/table/pointwise_functions.def>

Val* complex(Val* r, Val* i) {
  ops::requireOperands("complex", {r, i});
  if (r->dtype() != i->dtype()) {
    userError("complex: real and imaginary part must have the same type, got ", r->dtype(), " and ",
              i->dtype(), "; cast one of them");
  }
  if (r->dtype() != DataType::Float && r->dtype() != DataType::Double) {
    userError("complex: the parts must be of type float or double, got ", r->dtype(),
              "; cast them first");
  }
  return ops::define(BinaryOpType::Complex, "complex", getComplexTypeFromType(r->dtype()),
                     ops::maybeBroadcast({r, i}));
}

TensorView* complex(TensorView* r, TensorView* i) {
  return complex(static_cast<Val*>(r), static_cast<Val*>(i))->as<TensorView>();
}

Val* add_alpha(Val* v1, Val* v2, Val* alpha) {
  ops::requireOperands("add_alpha", {v1, v2, alpha});
  if (alpha->isA<TensorView>()) {
    userError("add_alpha: alpha (", alpha->toInlineString(), ") must be a scalar, not a tensor");
  }
  return add(v1, mul(v2, alpha));
}

Val* sub_alpha(Val* v1, Val* v2, Val* alpha) {
  ops::requireOperands("sub_alpha", {v1, v2, alpha});
  if (alpha->isA<TensorView>()) {
    userError("sub_alpha: alpha (", alpha->toInlineString(), ") must be a scalar, not a tensor");
  }
  return sub(v1, mul(v2, alpha));
}

#define NVFUSER_TENSOR_ALPHA(name, Left, Right)                                         \
  TensorView* name(Left* v1, Right* v2, Val* alpha) {                                   \
    return name(static_cast<Val*>(v1), static_cast<Val*>(v2), alpha)->as<TensorView>(); \
  }
NVFUSER_TENSOR_ALPHA(add_alpha, TensorView, Val)
NVFUSER_TENSOR_ALPHA(add_alpha, Val, TensorView)
NVFUSER_TENSOR_ALPHA(add_alpha, TensorView, TensorView)
NVFUSER_TENSOR_ALPHA(sub_alpha, TensorView, Val)
NVFUSER_TENSOR_ALPHA(sub_alpha, Val, TensorView)
NVFUSER_TENSOR_ALPHA(sub_alpha, TensorView, TensorView)
#undef NVFUSER_TENSOR_ALPHA

}  // namespace nvfuser
