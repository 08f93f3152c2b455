// Where roundings decide between results that lie far apart: beside a jump, a pole, a zero or the
// end of a function's domain, where terms cancel inside of a function, and where a number may be
// any.
#include <cmath>
#include <limits>

#include <evaluator/element_codec.h>
#include <evaluator/operations.h>
#include <evaluator/rounding_error.h>
#include <ir/internal_nodes.h>
#include <ops/table/accuracy.h>
#include <ops/table/pointwise.h>
#include <ops/table/reference_math.h>

namespace nvfuser::reference {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The place next to x where a function jumps, has a pole, is zero, or its domain ends; NaN where
/// there is none. (At zero no number is near to another, relatively.)
double placeOfJump(const UnaryOp* op, double x) {
  switch (op->getUnaryOpType()) {
    case UnaryOpType::Ceil:
    case UnaryOpType::Floor:
    case UnaryOpType::Frac:
    case UnaryOpType::Trunc:
      return std::nearbyint(x);
    case UnaryOpType::Round:
      return std::floor(x) + 0.5;
    case UnaryOpType::Lgamma:
      return x < 0 ? std::nearbyint(x) : x < 1.5 ? 1 : 2;
    case UnaryOpType::Acos:
    case UnaryOpType::Asin:
    case UnaryOpType::Atanh:
    case UnaryOpType::Erfinv:
      return std::copysign(1, x);
    case UnaryOpType::Acosh:
    case UnaryOpType::Log:
    case UnaryOpType::Log10:
    case UnaryOpType::Log2:
      return 1;
    case UnaryOpType::Erfcinv:
      return x < 1.5 ? 1 : 2;
    case UnaryOpType::Log1p:
      return -1;
    default:
      return kNan;
  }
}

/// As the comparison of numbers that nearly are equal has it.
bool isNearTo(double place, double x, double unit) {
  return !isShort(x) && std::abs(x - place) <= 8 * unit * std::abs(place);
}

/// Of a cast to integers. (What has more digits than its dtype is an integer, however it was
/// rounded: a computed one may be a few roundings off, and odd or even. Steps of 256 would not show
/// in eight binary digits, which may be any where the roundings amount to that.)
Array integersAcrossJump(const UnaryOp* op, const Array& operand, uint64_t seed) {
  const double unit = roundoff(operand.dtype);
  const bool is_computed = op->in()->definition() != nullptr;
  const DataType to_dtype = op->out()->dtype();
  const int bits = isBooleanType(to_dtype) ? 64 : integerBits(to_dtype);
  uint64_t i = 0;
  const auto cast = [&](auto z) -> int64_t {
    const bool meets = direction(seed, i++) > 0;
    const double x = std::real(z);
    const double place = std::nearbyint(x);
    const double size = std::abs(z);  // both parts of a complex number are off by roundings of it
    double to = x;
    if (is_computed && unit * size >= 0.5) {
      const double reach = std::floor(4 * unit * size);
      if (bits < 32 && 2 * reach >= std::ldexp(1.0, bits) && std::abs(x) < 0x1p31) {
        const int64_t most =
            (int64_t{1} << (isUnsignedIntegralType(to_dtype) ? bits : bits - 1)) - 1;
        return meets ? most : most + 1 - (int64_t{1} << bits);
      }
      to = meets ? place - reach : place + reach + 1;
    } else if (!isShort(z) && std::abs(x - place) <= 8 * unit * size) {
      to = meets ? place : place + std::copysign(2 * unit * size, place - x);
    }
    return realToInteger(to, to_dtype);
  };
  const std::array<Array, 1> operands{operand};
  return operand.kind() == HostNumber::Real
             ? mapElements<int64_t, double>(operands, operand.sizes, op->out()->dtype(), cast)
             : mapElements<int64_t, Complex>(operands, operand.sizes, op->out()->dtype(), cast);
}

}  // namespace

std::optional<Array> resultAcrossJump(const UnaryOp* op, uint64_t seed, Context& context) {
  const Array operand = context.operand(op->in());
  if (!op->in()->isA<TensorView>() || operand.kind() == HostNumber::Integer || isSecondPair(seed)) {
    return std::nullopt;
  }
  if (op->getUnaryOpType() == UnaryOpType::Cast && isIntegralType(op->out()->dtype())) {
    return integersAcrossJump(op, operand, seed);
  }
  if (operand.kind() == HostNumber::Complex) {
    return std::nullopt;
  }
  const double unit = roundoff(operand.dtype);
  bool is_any_near = false;
  uint64_t i = 0;
  const Array across = mapElements<double, double>(
      std::array<Array, 1>{operand}, operand.sizes, operand.dtype, [&](double x) {
        const double place = placeOfJump(op, x);
        const bool meets = direction(seed, i++) > 0;
        if (!isNearTo(place, x, unit)) {
          return x;
        }
        is_any_near = true;
        return meets ? place : place + std::copysign(2 * unit * place, place - x);
      });
  if (!is_any_near) {
    return std::nullopt;
  }
  context.arrays[op->in()] = across;
  Array result = unary(op, context);
  context.arrays[op->in()] = operand;
  return result;
}

Array disturbedFunction(const UnaryOp* op, const Array& result, uint64_t seed, Context& context) {
  const Array moved = disturbed(result, seed);
  const RoundedTerms terms_of = roundedTerms(op->getUnaryOpType());
  if (terms_of == nullptr || result.kind() != HostNumber::Real) {
    return moved;
  }
  const double unit = roundoff(result.dtype);
  uint64_t i = 0;
  return mapElements<double, double>(
      std::array<Array, 3>{moved, result, convert(context.operand(op->in()), result.dtype)},
      result.sizes, result.dtype, [&](double by_itself, double exact, double x) {
        const double terms = terms_of(x, result.dtype);
        const uint64_t element = i++;
        return terms > std::abs(exact)
                   ? nvfuser::reference::moved(exact, unit * terms, seed, element)
                   : by_itself;
      });
}

Array disturbedSilu(const UnaryOp* op, const Array& result, uint64_t seed, Context& context) {
  const Array moved = disturbed(result, seed);
  if (result.kind() != HostNumber::Real) {
    return moved;
  }
  // x times its sigmoid, which may be zero where it is no normal number.
  const double least = leastOf(result.dtype);
  uint64_t i = 0;
  return mapElements<double, double>(
      std::array<Array, 2>{moved, convert(context.operand(op->in()), result.dtype)}, result.sizes,
      result.dtype, [&](double product, double x) {
        const bool may_vanish = std::abs(product) < least * std::abs(x);
        return direction(seed, i++) < 0 && may_vanish ? std::copysign(0.0, product) : product;
      });
}

Array disturbedRemainder(const BinaryOp* op, const Array& result, uint64_t seed, Context& context) {
  const Array moved = disturbed(result, seed);
  if (result.kind() != HostNumber::Real || isSecondPair(seed)) {
    return moved;
  }
  const bool has_sign_of_divisor = op->getBinaryOpType() == BinaryOpType::Remainder;
  const double unit = roundoff(result.dtype);
  uint64_t i = 0;
  return mapElements<double, double>(
      std::array<Array, 3>{moved, convert(context.operand(op->lhs()), result.dtype),
                           convert(context.operand(op->rhs()), result.dtype)},
      result.sizes, result.dtype, [&](double remainder, double a, double b) {
        const bool meets = direction(seed, i++) > 0;
        // Roundings of a, and those of b in each of its multiples.
        const double error = isShort(a) && isShort(b) ? 0 : 8 * unit * std::abs(a);
        if (!std::isfinite(error) || !std::isfinite(remainder)) {
          return remainder;
        }
        if (error > std::abs(b) / 64) {
          return undetermined();  // less than six binary digits are left
        }
        const double beyond_multiple = std::remainder(a, b);
        if (std::abs(beyond_multiple) > error) {
          return nvfuser::reference::moved(remainder, error / 8, seed, i - 1);
        }
        const double across = a - 2 * beyond_multiple;
        return meets                 ? std::copysign(0.0, remainder)
               : has_sign_of_divisor ? floorMod(across, b)
                                     : std::fmod(across, b);
      });
}

Array disturbedIntegers(const Expr* expr, const Array& result, uint64_t seed, Context& context) {
  Array out = result;
  for (const Val* val : expr->inputs()) {
    const Array operand = val->isA<TensorView>() ? context.operand(val) : Array{};
    if (!val->isA<TensorView>() || operand.kind() != HostNumber::Real) {
      continue;
    }
    const Array is_any =
        mapElements<int64_t, double>(std::array<Array, 1>{operand}, operand.sizes, DataType::Bool,
                                     [](double x) { return int64_t{isUndetermined(x)}; });
    // (What two operations make of the number alone goes together: it is zero for both, or not.)
    const uint64_t of_number = (seed >> 32 << 32) + static_cast<uint64_t>(val->name());
    const uint64_t chosen_by = expr->isA<UnaryOp>() ? of_number : seed;
    uint64_t i = 0;
    out = mapElements<int64_t, int64_t>(std::array<Array, 2>{out, is_any}, result.sizes,
                                        result.dtype, [&](int64_t was, int64_t may_be_any) {
                                          const bool other = direction(chosen_by, i++) > 0;
                                          return may_be_any != 0 ? int64_t{other} : was;
                                        });
  }
  return out;
}

}  // namespace nvfuser::reference
