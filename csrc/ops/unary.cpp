/// Casts and the pointwise functions of one operand.
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/define_pointwise.h>
#include <ops/utils.h>

namespace nvfuser {

using ops::applyRule;

Val* castOp(DataType dtype, Val* v1) {
  ops::requireOperands("cast", {v1});
  if (dtype == DataType::Null) {
    userError("cast: the data type to cast to is missing");
  }
  if (v1->dtype() == dtype) {
    return set(v1);
  }
  return ops::define(UnaryOpType::Cast, "cast", dtype, {v1});
}

Val* maybeCastOp(DataType dtype, Val* v1) {
  ops::requireOperands("cast", {v1});
  return v1->dtype() == dtype ? v1 : castOp(dtype, v1);
}

Val* bitCastOp(DataType dtype, Val* v1) {
  ops::requireOperands("bitcast", {v1});
  if (v1->dtype() == dtype) {
    return v1;
  }
  if (dtype == DataType::Null || dataTypeSizeByte(v1->dtype()) != dataTypeSizeByte(dtype)) {
    userError("bitcast: ", v1->toInlineString(), " of type ", v1->dtype(), " cannot be read as ",
              dtype, ": BitCast only works for types of the same size");
  }
  return ops::define(UnaryOpType::BitCast, "bitcast", dtype, {v1});
}

TensorView* castOp(DataType dtype, TensorView* v1) {
  return castOp(dtype, static_cast<Val*>(v1))->as<TensorView>();
}
TensorView* maybeCastOp(DataType dtype, TensorView* v1) {
  return maybeCastOp(dtype, static_cast<Val*>(v1))->as<TensorView>();
}
TensorView* bitCastOp(DataType dtype, TensorView* v1) {
  return bitCastOp(dtype, static_cast<Val*>(v1))->as<TensorView>();
}

Val* unaryOp(UnaryOpType type, Val* v1) {
  return applyRule(type, DtypeRule::Keep, pointwiseRow(type).name, {v1});
}

Val* unaryOp(UnaryOpType type, Val* v1, const TypePromotionConfig& config) {
  const PointwiseRow& row = pointwiseRow(type);
  ops::requireOperands(row.name, {v1});
  std::vector<Val*> operands = {v1};
  DataType common = computeTypes(row.name, config, operands);
  ops::requireAccepts(row, row.name, common);
  return ops::define(type, row.name, row.resultType(common), promoteValues(operands, common));
}

Val* unaryIsOp(UnaryOpType type, Val* v1) {
  check(pointwiseRow(type).result == ResultKind::Bool, "unaryIsOp takes predicates");
  return applyRule(type, DtypeRule::Predicate, pointwiseRow(type).name, {v1});
}

TensorView* unaryOp(UnaryOpType type, TensorView* v1) {
  return unaryOp(type, static_cast<Val*>(v1))->as<TensorView>();
}
TensorView* unaryOp(UnaryOpType type, TensorView* v1, const TypePromotionConfig& config) {
  return unaryOp(type, static_cast<Val*>(v1), config)->as<TensorView>();
}
TensorView* unaryIsOp(UnaryOpType type, TensorView* v1) {
  return unaryIsOp(type, static_cast<Val*>(v1))->as<TensorView>();
}

namespace {

/// The real part of what is real already is a copy.
Val* realPart(Val* v) {
  ops::requireOperands("real", {v});
  if (!isComplexType(v->dtype())) {
    return set(v);
  }
  return applyRule(UnaryOpType::Real, DtypeRule::RealPart, "real", {v});
}

Val* imaginaryPart(Val* v) {
  ops::requireOperands("imag", {v});
  if (!isComplexType(v->dtype())) {
    userError("imag: ", v->toInlineString(), " has type ", v->dtype(),
              "; imag not supported for non-complex tensors and scalars");
  }
  return applyRule(UnaryOpType::Imag, DtypeRule::RealPart, "imag", {v});
}

/// A table's function; those with a rule that depends on more than the dtype class have a function
/// of their own.
Val* callUnary(UnaryOpType type, DtypeRule rule, std::string_view op, Val* v) {
  switch (type) {
    case UnaryOpType::Real:
      return realPart(v);
    case UnaryOpType::Imag:
      return imaginaryPart(v);
    case UnaryOpType::BitwiseNot:
      if (v != nullptr && isBooleanType(v->dtype())) {
        return logical_not(v);
      }
      break;
    default:
      break;
  }
  return applyRule(type, rule, op, {v});
}

}  // namespace

#define UNARY(name, type, rule, python, doc)                                            \
  Val* name(Val* v) { return callUnary(UnaryOpType::type, DtypeRule::rule, #name, v); } \
  TensorView* name(TensorView* v) { return name(static_cast<Val*>(v))->as<TensorView>(); }
#include <ops/table/pointwise_functions.def>

}  // namespace nvfuser
