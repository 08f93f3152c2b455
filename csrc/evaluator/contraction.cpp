// What fused multiply-adds change: a product that is added to something may not be rounded there,
// but where it is read otherwise it is. So x - max(x) of x = a * b, of one element, may be what
// rounding the product lost.
#include <evaluator/operations.h>
#include <evaluator/rounding_error.h>
#include <ir/internal_nodes.h>

namespace nvfuser::reference {

namespace {

const BinaryOp* productOf(const Val* val) {
  const Expr* def = val->definition();
  const bool is_product = def != nullptr && def->isA<BinaryOp>() &&
                          def->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Mul;
  return is_product ? def->as<BinaryOp>() : nullptr;
}

}  // namespace

const BinaryOp* unroundedProduct(const Val* val) {
  return val->dtype() == DataType::Double ? productOf(val) : nullptr;
}

namespace {

/// Longer chains of sums are not looked at: each step doubles the work.
constexpr int kMostSteps = 4;

bool mayBeUnrounded(const Val* val, int steps) {
  const DataType part = getTypeFromComplexType(val->dtype());
  const Expr* def = val->definition();
  if (def == nullptr || steps == 0 || (part != DataType::Float && part != DataType::Double)) {
    return false;  // narrower ones are rounded by an operation of their own
  }
  if (const auto* binary = def->isA<BinaryOp>() ? def->as<BinaryOp>() : nullptr) {
    const BinaryOpType type = binary->getBinaryOpType();
    const bool is_sum = type == BinaryOpType::Add || type == BinaryOpType::Sub;
    return type == BinaryOpType::Mul || (is_sum && (mayBeUnrounded(binary->lhs(), steps - 1) ||
                                                    mayBeUnrounded(binary->rhs(), steps - 1)));
  }
  const bool negates =
      def->isA<UnaryOp>() && def->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Neg;
  const bool copies = def->isOneOf<LoadStoreOp, BroadcastOp, SqueezeOp, ExpandOp>();
  return (negates || copies) && mayBeUnrounded(def->input(0), steps);
}

}  // namespace

bool mayBeUnrounded(const Val* val) { return mayBeUnrounded(val, kMostSteps); }

Array disturbedSumOfTwo(const BinaryOp* op, const Array& result, uint64_t seed, Context& context) {
  Array out = disturbed(result, seed);
  const double unit = roundoff(result.dtype);
  uint64_t i = 0;
  for (const Val* operand : {op->lhs(), op->rhs()}) {
    if (!mayBeUnrounded(operand)) {
      continue;
    }
    const auto move = [&](auto sum, auto product) {
      const double lost = isShort(product) ? 0 : unit * finiteOrZero(std::abs(product));
      return lost == 0 ? sum : moved(sum, lost, seed, i++);
    };
    const std::array<Array, 2> numbers{out, convert(context.operand(operand), result.dtype)};
    if (result.kind() == HostNumber::Real) {
      out = mapElements<double, double>(numbers, result.sizes, result.dtype, move);
    } else if (result.kind() == HostNumber::Complex) {
      out = mapElements<Complex, Complex>(numbers, result.sizes, result.dtype, move);
    }
  }
  if (result.kind() != HostNumber::Real) {
    return out;
  }
  const double sign = op->getBinaryOpType() == BinaryOpType::Sub ? -1 : 1;
  for (const bool is_left : {true, false}) {
    const BinaryOp* product = unroundedProduct(is_left ? op->lhs() : op->rhs());
    if (product == nullptr) {
      continue;
    }
    // (A long double has room for the product.)
    const std::array<Array, 3> factors{
        convert(context.operand(product->lhs()), result.dtype),
        convert(context.operand(product->rhs()), result.dtype),
        convert(context.operand(is_left ? op->rhs() : op->lhs()), result.dtype)};
    const Array contracted = mapElements<double, double>(
        factors, result.sizes, result.dtype, [&](double a, double b, double other) {
          const long double exact = static_cast<long double>(a) * b;
          return static_cast<double>(is_left ? exact + sign * other : other + sign * exact);
        });
    out = mapElements<double, double>(
        std::array<Array, 2>{out, contracted}, result.sizes, result.dtype,
        [&](double rounded, double exact) {
          return std::isfinite(rounded) || direction(seed, i++) > 0 ? rounded : exact;
        });
  }
  return out;
}

}  // namespace nvfuser::reference
