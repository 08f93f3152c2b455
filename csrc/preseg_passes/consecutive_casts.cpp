#include <preseg_passes/consecutive_casts.h>

#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

enum class Kind : uint8_t { Bool, Integer, Real, Complex, Other };

Kind kindOf(DataType dtype) {
  if (isBooleanType(dtype)) {
    return Kind::Bool;
  }
  if (dtype == DataType::Index) {
    return Kind::Other;  // 32 or 64 bits, as the kernel will have it
  }
  if (isIntegralType(dtype)) {
    return Kind::Integer;
  }
  if (isFloatingPointType(dtype)) {
    return Kind::Real;
  }
  return isComplexType(dtype) ? Kind::Complex : Kind::Other;
}

/// Bits that a floating-point dtype has for an integer; 0 where we do not say.
int64_t mantissaBits(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Half:
      return 11;
    case PrimDataType::BFloat16:
      return 8;
    case PrimDataType::Float:
      return 24;
    case PrimDataType::Double:
      return 53;
    default:
      return 0;
  }
}

DataType partOf(DataType complex) {
  return complex == DataType::ComplexFloat ? DataType::Float : DataType::Double;
}

bool integerFits(DataType from, DataType to) {
  const int64_t bits = dataTypeSizeBit(from);
  const bool is_unsigned = isUnsignedIntegralType(from);
  if (kindOf(to) == Kind::Real) {
    return (is_unsigned ? bits : bits - 1) <= mantissaBits(to);
  }
  if (isUnsignedIntegralType(to)) {
    return is_unsigned && dataTypeSizeBit(to) >= bits;
  }
  return is_unsigned ? dataTypeSizeBit(to) > bits : dataTypeSizeBit(to) >= bits;
}

}  // namespace

bool castLosesNothing(DataType from, DataType to) {
  const Kind a = kindOf(from);
  const Kind b = kindOf(to);
  if (a == Kind::Other || b == Kind::Other) {
    return false;
  }
  if (from == to) {
    return true;
  }
  if (b == Kind::Complex) {
    return a == Kind::Complex ? to == DataType::ComplexDouble : castLosesNothing(from, partOf(to));
  }
  switch (a) {
    case Kind::Bool:
      return true;
    case Kind::Integer:
      return (b == Kind::Integer || b == Kind::Real) && integerFits(from, to);
    case Kind::Real:  // the exponents of Half and BFloat16 fit Float's, not each other's
      return b == Kind::Real && from != DataType::Double &&
             (to == DataType::Double || (to == DataType::Float && from != DataType::Float));
    default:
      return false;
  }
}

bool canCastDirectly(DataType first, DataType middle, DataType last) {
  if (!castLosesNothing(first, middle) || kindOf(last) == Kind::Other) {
    return false;
  }
  const Kind a = kindOf(first);
  // Large integers reach a narrow dtype by way of float or of double: two roundings that differ.
  if (a == Kind::Integer && isReducedPrecisionFloat(last) &&
      !castLosesNothing(first, DataType::Float)) {
    return false;
  }
  if (a == Kind::Bool || a == kindOf(middle) || castLosesNothing(first, last)) {
    return true;
  }
  // An integer as a real number: what lies outside an integer dtype is no longer wrapped.
  return kindOf(last) == Kind::Real || kindOf(last) == Kind::Complex;
}

namespace {

TensorView* castOperand(const Expr* expr) {
  if (expr == nullptr || !expr->isA<UnaryOp>() ||
      expr->as<UnaryOp>()->getUnaryOpType() != UnaryOpType::Cast ||
      !expr->input(0)->isA<TensorView>()) {
    return nullptr;
  }
  return expr->input(0)->as<TensorView>();
}

}  // namespace

void mergeConsecutiveCasts(Fusion& fusion) {
  for (Expr* expr : fusion.exprs()) {
    TensorView* middle = castOperand(expr);
    if (middle == nullptr) {
      continue;
    }
    TensorView* first = castOperand(middle->definition());
    auto* last = expr->output(0)->as<TensorView>();
    if (first == nullptr || !canCastDirectly(first->dtype(), middle->dtype(), last->dtype())) {
      continue;
    }
    if (first->dtype() == last->dtype()) {
      if (sameForm(first, last)) {
        replaceTensor(last, first);
      }
      continue;
    }
    fusion.replaceInput(expr, middle, first);
  }
}

}  // namespace nvfuser::preseg_passes
