#include <ir/builder.h>

namespace nvfuser {

namespace {

/// Of a size, x where lhs = x · rhs for a positive constant rhs; null elsewhere. (Other integers
/// may wrap: x · 2 / 2 is not x then.)
Val* exactQuotient(Val* lhs, Val* rhs) {
  const Expr* def =
      lhs->dtype() == DataType::Index && rhs->isConstInt() ? lhs->definition() : nullptr;
  if (def == nullptr || !def->isA<BinaryOp>() ||
      def->as<BinaryOp>()->getBinaryOpType() != BinaryOpType::Mul || !rhs->isConst() ||
      rhs->value().as<int64_t>() <= 0) {
    return nullptr;
  }
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (def->input(i)->isConst() && def->input(i)->value() == rhs->value()) {
      return def->input(1 - i);
    }
  }
  return nullptr;
}

/// The value of an expression with a neutral or absorbing operand, or of equal ones; null where
/// neither is known. For floating point only what is exact for NaN and −0, too.
Val* knownNumber(BinaryOpType type, Val* lhs, Val* rhs, DataType dtype) {
  using enum BinaryOpType;
  Fusion* fusion = lhs->fusion();
  auto kept = [&](Val* val) { return IrBuilder::maybeCastExpr(dtype, val); };
  const bool exact = isIntegralType(dtype);
  switch (type) {
    case Add:
      if (exact && rhs->isZero()) {
        return kept(lhs);
      }
      if (exact && lhs->isZero()) {
        return kept(rhs);
      }
      break;
    case Sub:
      if (rhs->isZero()) {
        return kept(lhs);
      }
      if (exact && lhs->sameAs(rhs)) {
        return fusion->zeroVal(dtype);
      }
      break;
    case Mul:
      if (rhs->isOne()) {
        return kept(lhs);
      }
      if (lhs->isOne()) {
        return kept(rhs);
      }
      if (exact && (lhs->isZero() || rhs->isZero())) {
        return fusion->zeroVal(dtype);
      }
      break;
    case Div:
    case CeilDiv:
      if (rhs->isOne()) {
        return kept(lhs);
      }
      if (Val* quotient = exactQuotient(lhs, rhs)) {
        return kept(quotient);
      }
      break;
    case Mod:
      if (rhs->isOne() && exact) {
        return fusion->zeroVal(dtype);
      }
      break;
    case Max:
    case Min:
      if (lhs->sameAs(rhs)) {
        return kept(lhs);
      }
      break;
    case Gcd:
      if (lhs->isOne() || rhs->isOne()) {
        return fusion->oneVal(dtype);
      }
      break;
    default:
      break;
  }
  return nullptr;
}

/// The same of truth values and comparisons.
Val* knownTruth(BinaryOpType type, Val* lhs, Val* rhs) {
  using enum BinaryOpType;
  Fusion* fusion = lhs->fusion();
  switch (type) {
    case LogicalAnd:
      if (lhs->isFalse() || rhs->isFalse()) {
        return fusion->falseVal();
      }
      if (lhs->isTrue()) {
        return rhs;
      }
      if (rhs->isTrue()) {
        return lhs;
      }
      break;
    case LogicalOr:
      if (lhs->isTrue() || rhs->isTrue()) {
        return fusion->trueVal();
      }
      if (lhs->isFalse()) {
        return rhs;
      }
      if (rhs->isFalse()) {
        return lhs;
      }
      break;
    case Eq:
    case LE:
    case GE:
      if (isIntegralType(lhs->dtype()) && lhs->sameAs(rhs)) {
        return fusion->trueVal();
      }
      break;
    case NE:
    case LT:
    case GT:
      if (isIntegralType(lhs->dtype()) && lhs->sameAs(rhs)) {
        return fusion->falseVal();
      }
      break;
    default:
      break;
  }
  return nullptr;
}

}  // namespace

Val* SimplifyingIrBuilder::binaryExpr(BinaryOpType type, Val* lhs, Val* rhs) {
  check(lhs != nullptr && rhs != nullptr, "a scalar expression was given a null operand");
  const DataType dtype = scalarResultType(type, lhs->dtype(), rhs->dtype());
  if (lhs->isConst() && rhs->isConst()) {
    if (auto folded = foldBinary(type, lhs->value(), rhs->value())) {
      return IrBuilder::createInContainer<Val>(lhs->fusion(), *folded, dtype);
    }
  }
  if (Val* known = knownNumber(type, lhs, rhs, dtype)) {
    return known;
  }
  if (Val* known = knownTruth(type, lhs, rhs)) {
    return known;
  }
  return IrBuilder::binaryExpr(type, lhs, rhs);
}

Val* SimplifyingIrBuilder::addExpr(Val* lhs, int64_t rhs) {
  return addExpr(
      lhs, IrBuilder::createInContainer<Val>(lhs->fusion(), PolymorphicValue(rhs), lhs->dtype()));
}

Val* SimplifyingIrBuilder::mulExpr(Val* lhs, int64_t rhs) {
  return mulExpr(
      lhs, IrBuilder::createInContainer<Val>(lhs->fusion(), PolymorphicValue(rhs), lhs->dtype()));
}

Val* SimplifyingIrBuilder::negExpr(Val* val) {
  if (val->isConst() && val->value().is<int64_t>()) {
    return IrBuilder::createInContainer<Val>(
        val->fusion(), *foldBinary(BinaryOpType::Sub, PolymorphicValue(int64_t{0}), val->value()),
        val->dtype());
  }
  if (val->isConst() && val->value().is<double>()) {
    return IrBuilder::createInContainer<Val>(
        val->fusion(), PolymorphicValue(-val->value().as<double>()), val->dtype());
  }
  return IrBuilder::negExpr(val);
}

Val* SimplifyingIrBuilder::logicalNotExpr(Val* val) {
  if (val->isTrue()) {
    return val->fusion()->falseVal();
  }
  if (val->isFalse()) {
    return val->fusion()->trueVal();
  }
  return IrBuilder::logicalNotExpr(val);
}

Val* SimplifyingIrBuilder::maybeCastExpr(DataType dtype, Val* val) {
  if (val->dtype() == dtype) {
    return val;
  }
  if (val->isConst()) {
    return IrBuilder::createInContainer<Val>(val->fusion(), val->value(), dtype);
  }
  return IrBuilder::maybeCastExpr(dtype, val);
}

Val* SimplifyingIrBuilder::whereExpr(Val* pred, Val* lhs, Val* rhs) {
  if (pred->isTrue()) {
    return maybeCastExpr(promoteType(lhs->dtype(), rhs->dtype()), lhs);
  }
  if (pred->isFalse()) {
    return maybeCastExpr(promoteType(lhs->dtype(), rhs->dtype()), rhs);
  }
  if (lhs->sameAs(rhs)) {
    return lhs;
  }
  return IrBuilder::whereExpr(pred, lhs, rhs);
}

}  // namespace nvfuser
