#include <ir/builder.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace nvfuser {

namespace {

bool isPredicateOp(BinaryOpType type) {
  using enum BinaryOpType;
  return type == Eq || type == NE || type == LT || type == LE || type == GT || type == GE ||
         type == LogicalAnd || type == LogicalOr;
}

Fusion* containerOf(Val* lhs, Val* rhs) {
  check(lhs != nullptr && rhs != nullptr, "a scalar expression was given a null operand");
  return lhs->fusion();
}

int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

DataType scalarResultType(BinaryOpType type, DataType lhs, DataType rhs) {
  return isPredicateOp(type) ? DataType(DataType::Bool) : promoteType(lhs, rhs);
}

std::optional<PolymorphicValue> foldBinary(BinaryOpType type, const PolymorphicValue& lhs,
                                           const PolymorphicValue& rhs) {
  using enum BinaryOpType;
  if (!lhs.hasValue() || !rhs.hasValue()) {
    return std::nullopt;
  }
  if (lhs.is<std::complex<double>>() || rhs.is<std::complex<double>>()) {
    return std::nullopt;
  }
  if (lhs.is<double>() || rhs.is<double>()) {
    const double a = lhs.as<double>();
    const double b = rhs.as<double>();
    switch (type) {
      case Add:
        return a + b;
      case Sub:
        return a - b;
      case Mul:
        return a * b;
      case Div:
        return a / b;
      case Pow:
        return std::pow(a, b);
      case Eq:
        return a == b;
      case NE:
        return a != b;
      case LT:
        return a < b;
      case LE:
        return a <= b;
      case GT:
        return a > b;
      case GE:
        return a >= b;
      default:
        return std::nullopt;
    }
  }
  const int64_t a = lhs.as<int64_t>();
  const int64_t b = rhs.as<int64_t>();
  const bool undefined_quotient = b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1);
  switch (type) {
    case Add:
      return wrapAdd(a, b);
    case Sub:
      return wrapAdd(a, wrapMul(b, -1));
    case Mul:
      return wrapMul(a, b);
    case Div:
      if (undefined_quotient) {
        return std::nullopt;
      }
      return a / b;
    case Mod:
      if (undefined_quotient) {
        return std::nullopt;
      }
      return a % b;
    case CeilDiv:
      if (undefined_quotient) {
        return std::nullopt;
      }
      return a / b + static_cast<int64_t>(a % b != 0 && (a < 0) == (b < 0));
    case Max:
      return std::max(a, b);
    case Min:
      return std::min(a, b);
    case Gcd:
      return std::gcd(a, b);
    case BitwiseAnd:
      return a & b;
    case BitwiseOr:
      return a | b;
    case BitwiseXor:
      return a ^ b;
    case LogicalAnd:
      return a != 0 && b != 0;
    case LogicalOr:
      return a != 0 || b != 0;
    case Eq:
      return a == b;
    case NE:
      return a != b;
    case LT:
      return a < b;
    case LE:
      return a <= b;
    case GT:
      return a > b;
    case GE:
      return a >= b;
    default:
      return std::nullopt;
  }
}

// ---- IrBuilder

Val* IrBuilder::binaryExpr(BinaryOpType type, Val* lhs, Val* rhs) {
  Fusion* fusion = containerOf(lhs, rhs);
  Val* out = createInContainer<Val>(fusion, scalarResultType(type, lhs->dtype(), rhs->dtype()));
  createInContainer<BinaryOp>(fusion, type, out, lhs, rhs);
  return out;
}

Val* IrBuilder::unaryExpr(UnaryOpType type, Val* val) {
  check(val != nullptr, "a scalar expression was given a null operand");
  DataType dtype = type == UnaryOpType::LogicalNot ? DataType(DataType::Bool) : val->dtype();
  Val* out = createInContainer<Val>(val->fusion(), dtype);
  createInContainer<UnaryOp>(val->fusion(), type, out, val);
  return out;
}

Val* IrBuilder::negExpr(Val* val) { return unaryExpr(UnaryOpType::Neg, val); }
Val* IrBuilder::logicalNotExpr(Val* val) { return unaryExpr(UnaryOpType::LogicalNot, val); }
Val* IrBuilder::bitwiseNotExpr(Val* val) { return unaryExpr(UnaryOpType::BitwiseNot, val); }
Val* IrBuilder::absExpr(Val* val) { return unaryExpr(UnaryOpType::Abs, val); }

Val* IrBuilder::setExpr(Val* val) {
  Val* out = createInContainer<Val>(val->fusion(), val->dtype());
  createInContainer<LoadStoreOp>(val->fusion(), LoadStoreOpType::Set, out, val);
  return out;
}

Val* IrBuilder::maybeCastExpr(DataType dtype, Val* val) {
  if (val->dtype() == dtype) {
    return val;
  }
  Val* out = createInContainer<Val>(val->fusion(), dtype);
  createInContainer<UnaryOp>(val->fusion(), UnaryOpType::Cast, out, val);
  return out;
}

// The named forms of both builders, one line for each operation.
#define NVFUSER_BINARY_BUILDERS(X) \
  X(logicalAndExpr, LogicalAnd)    \
  X(logicalOrExpr, LogicalOr)      \
  X(eqExpr, Eq)                    \
  X(neExpr, NE)                    \
  X(gtExpr, GT)                    \
  X(ltExpr, LT)                    \
  X(leExpr, LE)                    \
  X(geExpr, GE)                    \
  X(addExpr, Add)                  \
  X(subExpr, Sub)                  \
  X(mulExpr, Mul)                  \
  X(divExpr, Div)                  \
  X(ceilDivExpr, CeilDiv)          \
  X(modExpr, Mod)                  \
  X(maxExpr, Max)                  \
  X(minExpr, Min)                  \
  X(gcdExpr, Gcd)

#define X(function, op)                                                                           \
  Val* IrBuilder::function(Val* lhs, Val* rhs) { return binaryExpr(BinaryOpType::op, lhs, rhs); } \
  Val* SimplifyingIrBuilder::function(Val* lhs, Val* rhs) {                                       \
    return binaryExpr(BinaryOpType::op, lhs, rhs);                                                \
  }
NVFUSER_BINARY_BUILDERS(X)
#undef X
#undef NVFUSER_BINARY_BUILDERS

Val* IrBuilder::bitwiseAndExpr(Val* lhs, Val* rhs) {
  return binaryExpr(BinaryOpType::BitwiseAnd, lhs, rhs);
}
Val* IrBuilder::bitwiseOrExpr(Val* lhs, Val* rhs) {
  return binaryExpr(BinaryOpType::BitwiseOr, lhs, rhs);
}
Val* IrBuilder::bitwiseXorExpr(Val* lhs, Val* rhs) {
  return binaryExpr(BinaryOpType::BitwiseXor, lhs, rhs);
}
Val* IrBuilder::lShiftExpr(Val* lhs, Val* rhs) {
  return binaryExpr(BinaryOpType::Lshift, lhs, rhs);
}
Val* IrBuilder::rShiftExpr(Val* lhs, Val* rhs) {
  return binaryExpr(BinaryOpType::Rshift, lhs, rhs);
}

Val* IrBuilder::isDivisibleExpr(Val* dividend, Val* divisor) {
  return eqExpr(modExpr(dividend, divisor), dividend->fusion()->zeroVal(dividend->dtype()));
}

Val* IrBuilder::whereExpr(Val* pred, Val* lhs, Val* rhs) {
  Fusion* fusion = containerOf(lhs, rhs);
  Val* out = createInContainer<Val>(fusion, promoteType(lhs->dtype(), rhs->dtype()));
  createInContainer<TernaryOp>(fusion, TernaryOpType::Where, out, pred, lhs, rhs);
  return out;
}

}  // namespace nvfuser
