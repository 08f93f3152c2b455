// `Rounding::Disturbed`: results moved as rounding may move them, in directions that a seed
// chooses. Operations that compute each element by itself; disturbed_sums.cpp has those that
// combine many.

#include <algorithm>
#include <bit>
#include <cmath>

#include <evaluator/interpreter.h>
#include <evaluator/operations.h>
#include <evaluator/rounding_error.h>

namespace nvfuser {

namespace {

/// A NaN with a bit that those of operations do not have. (Outputs of dtypes narrower than Float
/// have one NaN.)
constexpr uint64_t kUndetermined = 0x7ffa'0000'0000'0000;

}  // namespace

bool isUndetermined(double number) {
  return std::isnan(number) && (std::bit_cast<uint64_t>(number) & kUndetermined) == kUndetermined;
}

double undetermined() { return std::bit_cast<double>(kUndetermined); }

}  // namespace nvfuser

namespace nvfuser::reference {

Array disturbed(const Array& array, uint64_t seed) {
  if (array.kind() == HostNumber::Integer) {
    return array;
  }
  const double unit = roundoff(array.dtype);
  const double least = leastOf(array.dtype);
  const std::array<Array, 1> operand{array};
  uint64_t i = 0;
  auto move = [&](auto x) {
    const double amount = isShort(x) ? 0 : unit * finiteOrZero(std::abs(x));
    return moved(x, amount, seed, i++);
  };
  if (array.kind() == HostNumber::Real) {
    return mapElements<double, double>(operand, array.sizes, array.dtype, [&](double x) {
      const bool may_vanish = x != 0 && std::abs(x) < least && direction(seed, i) < 0;
      return may_vanish ? (++i, std::copysign(0.0, x)) : move(x);
    });
  }
  return mapElements<Complex, Complex>(operand, array.sizes, array.dtype, move);
}

Array disturbedProductOfTwo(const BinaryOp* op, const Array& result, uint64_t seed,
                            Context& context) {
  const Array moved = disturbed(result, seed);
  if (result.kind() != HostNumber::Real) {
    return moved;
  }
  const auto is_power_of_two = [](double x) {
    int exponent = 0;
    return std::abs(std::frexp(x, &exponent)) == 0.5;
  };
  const double least = leastOf(result.dtype);
  return mapElements<double, double>(
      std::array<Array, 3>{moved, convert(context.operand(op->lhs()), result.dtype),
                           convert(context.operand(op->rhs()), result.dtype)},
      result.sizes, result.dtype, [&](double product, double a, double b) {
        const bool is_exact =
            (is_power_of_two(a) || is_power_of_two(b)) && std::abs(a * b) >= least;
        return is_exact ? a * b : product;
      });
}

Array disturbedComparison(const BinaryOp* op, const Array& result, uint64_t seed,
                          Context& context) {
  const Array lhs = context.operand(op->lhs());
  const Array rhs = context.operand(op->rhs());
  if (lhs.kind() != HostNumber::Real || rhs.kind() != HostNumber::Real || isSecondPair(seed)) {
    return result;
  }
  // Operands that were moved alike still compare as they did: directions alone would not tell. Nor
  // would they tell of a number that is rounded to the other one.
  const double near = 8 * std::max(roundoff(lhs.dtype), roundoff(rhs.dtype));
  const Array are_near = mapElements<int64_t, double>(
      std::array<Array, 2>{convert(lhs, DataType::Double), convert(rhs, DataType::Double)},
      result.sizes, DataType::Bool, [&](double a, double b) {
        const bool is_rounded = !isShort(a) || !isShort(b);
        return int64_t{is_rounded && std::abs(a - b) <= near * std::abs(a)};
      });
  uint64_t i = 0;
  return mapElements<int64_t, int64_t>(std::array<Array, 2>{result, are_near}, result.sizes,
                                       result.dtype, [&](int64_t was, int64_t is_near) {
                                         const bool other = direction(seed, i++) > 0;
                                         return is_near != 0 ? int64_t{other} : was;
                                       });
}

Array disturbedComplexPower(const BinaryOp* op, const Array& result, uint64_t seed,
                            Context& context) {
  // exp(b · log a): the roundings of the exponent are what its exponential is off by, relatively.
  const double unit = roundoff(result.dtype);
  const std::array<Array, 3> operands{result, convert(context.operand(op->lhs()), result.dtype),
                                      convert(context.operand(op->rhs()), result.dtype)};
  uint64_t i = 0;
  return mapElements<Complex, Complex>(
      operands, result.sizes, result.dtype, [&](Complex power, Complex a, Complex b) {
        const double exponent = finiteOrZero(std::abs(b) * std::abs(std::log(a)));
        const double steps = exponent + (isShort(power) ? 0 : 1);
        return moved(power, unit * finiteOrZero(std::abs(power) * steps), seed, i++);
      });
}

Array disturbedLerp(const TernaryOp* op, const Array& result, uint64_t seed, Context& context) {
  if (result.kind() != HostNumber::Real) {
    return disturbed(result, seed);
  }
  // start + weight · (end − start): what is added is rounded for itself.
  const double unit = roundoff(result.dtype);
  const std::array<Array, 2> operands{result, convert(context.operand(op->in1()), result.dtype)};
  uint64_t i = 0;
  return mapElements<double, double>(
      operands, result.sizes, result.dtype, [&](double x, double start) {
        const double size = std::abs(start) + std::abs(x - start);
        // (What is added may have more digits than either.)
        const bool is_exact = isShort(x) && isShort(start) && isShort(x - start);
        const double amount = is_exact ? 0 : finiteOrZero(size);
        return moved(x, unit * amount, seed, i++);
      });
}

Array disturbedDraw(const RNGOp* op, const Array& result, uint64_t seed, Context& context) {
  // Uniform numbers are the same everywhere; normal ones are the root of a logarithm (which halves
  // what that is off by) times a cosine: roundings of 1 + 1 + 2 + 1 where functions are right to a
  // unit in the last place. They are of what is drawn; the mean is added with one of its own.
  constexpr double kRoundings = 5;
  const bool is_general = op->getRNGOpType() == RNGOpType::NormalGeneral;
  if (!is_general && op->getRNGOpType() != RNGOpType::NormalStandard) {
    return result;
  }
  const double mean =
      is_general
          ? onlyElement(convert(context.operand(op->parameter(0)), DataType::Double)).as<double>()
          : 0;
  const double unit = roundoff(result.dtype);
  uint64_t i = 0;
  return mapElements<double, double>(
      std::array<Array, 1>{result}, result.sizes, result.dtype, [&](double x) {
        const double size = std::max(kRoundings * std::abs(x - mean), std::abs(x));
        return moved(x, unit * finiteOrZero(size), seed, i++);
      });
}

}  // namespace nvfuser::reference
