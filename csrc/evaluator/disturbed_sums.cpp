// `Rounding::Disturbed` (disturbance.cpp) of operations that combine many elements: what their
// order, which the meaning leaves open, does to sums, products and moments.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <evaluator/interpreter.h>
#include <evaluator/operations.h>
#include <evaluator/rounding_error.h>

namespace nvfuser::reference {

namespace {

/// One of the values that are possible, for element i. The seeds of two pairs of opposites take up
/// to four of them in turn, from a place that the element chooses: none is left out.
double oneOf(const std::vector<double>& possible, uint64_t seed, uint64_t i) {
  const uint64_t turn = (seed >> 63) + (isSecondPair(seed) ? 2 : 0);
  const uint64_t start = mix((seed & 0xffffffffu) * 0x9e3779b97f4a7c15ull + i);
  return possible[(start + turn) % possible.size()];
}

/// How often numbers come again, but for their roundings.
class Repeats {
 public:
  void add(std::complex<long double> x) { keys_.emplace_back(key(x.real()), key(x.imag())); }
  /// Sum of the squares of how often each comes.
  long double squares() {
    std::sort(keys_.begin(), keys_.end());
    long double sum = 0;
    for (auto first = keys_.begin(); first != keys_.end();) {
      const auto next = std::upper_bound(first, keys_.end(), *first);
      const auto times = static_cast<long double>(next - first);
      sum += times * times;
      first = next;
    }
    return sum;
  }

 private:
  /// The same number for all that agree in their first 20 digits.
  static uint32_t key(long double x) {
    return (std::bit_cast<uint32_t>(static_cast<float>(x)) + 8) >> 4;
  }

  std::vector<std::pair<uint32_t, uint32_t>> keys_;
};

/// Exponent of the lowest binary digit that is not zero; the greatest int for a number without one.
int lowestDigit(long double x) {
  if (x == 0 || !std::isfinite(x)) {
    return std::numeric_limits<int>::max();
  }
  int exponent = 0;
  const long double digits = std::frexp(std::abs(x), &exponent) * 0x1p64L;
  return exponent - 64 + std::countr_zero(static_cast<uint64_t>(digits));
}

/// What numbers that are added one after the other leave behind.
template <typename Wide>
struct Addition {
  Wide sum{};
  long double squares = 0;
  long double sizes = 0;    ///< sum of the sizes of the finite terms
  long double largest = 0;  ///< of the sums on the way
  long double count = 0;
  int lowest = std::numeric_limits<int>::max();  ///< exponent of the terms' lowest digit
  Repeats repeats;

  void add(Wide x) {
    sum += x;
    repeats.add(x);
    lowest = std::min({lowest, lowestDigit(std::real(x)), lowestDigit(std::imag(x))});
    const long double size = std::abs(x);
    squares += size * size;
    sizes += std::isfinite(size) ? size : 0;
    largest = std::max(largest, std::abs(sum));
    ++count;
  }
  /// Whether no order has a sum on the way that needs more digits than a Float has. (What cancels
  /// in one order may swallow the other terms in the next one.)
  bool isExact() const {
    return sizes == 0 || sizes <= std::ldexp(static_cast<long double>(0x1p24), lowest);
  }
  /// The sum's error in units of rounding: each of n additions rounds a number of the size of the
  /// sums on the way, and the errors add up as √n. Terms that are one number are rounded the same
  /// way again and again (or lost, beside greater ones): c of them are off as c, and those of
  /// several numbers add up as the root of the squares. Other orders have other sums on the way,
  /// for which the root of the squares stands.
  double growth() {
    if (isExact()) {
      return 0;
    }
    const long double size = std::max(largest, std::sqrt(squares));
    const long double alike = std::min(count / 2, std::sqrt(repeats.squares() / 2));
    const long double steps = std::max(alike, std::sqrt(count));
    return finiteOrZero(static_cast<double>(steps / 2 * size));
  }
  /// Whether another order has a sum on the way that is beyond the greatest number of `dtype` (and
  /// that perhaps meets a term that is the opposite infinity).
  bool mayOverflow(DataType dtype) const { return sizes > greatestOf(dtype); }
};

/// What numbers that are multiplied one after the other may come by.
struct Multiplication {
  long double most = 1;  ///< product of the factors above 1
  long double least = 1;

  void multiply(long double size) { (size > 1 ? most : least) *= size; }
  /// What some order comes to, if the range is left on the way; empty if no order leaves it.
  ///
  /// An order that overflows, where the factors below 1 come too late, stays at the infinity that
  /// has the product's sign; one that comes to zero before it meets the factors above 1 stays at
  /// zero; and where both happen in parts, or one of the factors is an infinity, they meet in NaN.
  /// (Parts of a complex number that overflow are subtracted, too.)
  std::vector<double> beyondRange(DataType dtype, bool is_negative) const {
    const bool is_complex = isComplexType(dtype);
    const bool overflows =
        std::isfinite(most) && most > greatestOf(dtype) && (least < 1 || is_complex);
    const bool underflows = least < leastOf(dtype) && most > 1;
    std::vector<double> possible;
    if (overflows && !is_complex) {
      const double infinity = std::numeric_limits<double>::infinity();
      possible.push_back(is_negative ? -infinity : infinity);
    }
    if ((underflows && std::isfinite(most)) || (overflows && is_complex)) {
      possible.push_back(0);
    }
    const bool meet = overflows ? least < leastOf(dtype) || is_complex : !std::isfinite(most);
    if ((overflows || underflows) && meet) {
      possible.push_back(std::numeric_limits<double>::quiet_NaN());
    }
    return possible;
  }
};

/// A sum that may be moved across zero has lost all its digits: it may have the other sign, be
/// zero, or be just what it is compared with.
double movedSum(double sum, double amount, uint64_t seed, uint64_t i) {
  return isSecondPair(seed) && amount > std::abs(sum) ? undetermined()
                                                      : moved(sum, amount, seed, i);
}
Complex movedSum(Complex sum, double amount, uint64_t seed, uint64_t i) {
  return {movedSum(sum.real(), amount, seed, 2 * i), movedSum(sum.imag(), amount, seed, 2 * i + 1)};
}

}  // namespace

Array disturbedReduction(const ReductionOp* op, const Array& result, uint64_t seed,
                         Context& context) {
  if (result.kind() == HostNumber::Integer) {
    return result;
  }
  const double unit = roundoff(result.dtype);
  switch (op->getReductionOpType()) {
    case BinaryOpType::Add:
    case BinaryOpType::Mul:
      break;
    default:
      return result;  // chooses one of its operands
  }
  const bool adds = op->getReductionOpType() == BinaryOpType::Add;
  Array out = contiguous(result);
  out.numbers = std::make_shared<Numbers>(*out.numbers);
  auto move = [&]<typename T, typename Wide>(T, Wide) {
    std::vector<Addition<Wide>> sums(static_cast<size_t>(out.numel()));
    std::vector<Multiplication> products(sums.size());
    forEachReduced<T>(op, context, [&](size_t at, T x) {
      sums[at].add(Wide(x));
      products[at].multiply(std::abs(x));
    });
    T* to = out.data<T>() + out.offset;
    for (size_t i = 0; i < sums.size(); ++i) {
      if (adds) {
        const bool overflows = sums[i].mayOverflow(result.dtype);
        const double amount =
            overflows ? std::numeric_limits<double>::infinity() : unit * sums[i].growth();
        to[i] =
            overflows && isSecondPair(seed) ? T(undetermined()) : movedSum(to[i], amount, seed, i);
      } else if (const std::vector<double> possible =
                     products[i].beyondRange(result.dtype, std::signbit(std::real(to[i])));
                 !possible.empty()) {
        // (It may be what it is, too: several such come together in any way.)
        to[i] = isSecondPair(seed) ? T(undetermined()) : T(oneOf(possible, seed, i));
      } else if (to[i] != T(0) && std::abs(to[i]) < leastOf(result.dtype)) {
        to[i] = direction(seed, i) > 0 ? to[i] : T(0);
      } else if (!isShort(to[i])) {
        const double steps = static_cast<double>(std::sqrt(sums[i].count)) / 2;
        to[i] = moved(to[i], unit * finiteOrZero(std::abs(to[i]) * steps), seed, i);
      }
    }
  };
  if (out.kind() == HostNumber::Real) {
    move(double{}, static_cast<long double>(0));
  } else {
    move(Complex{}, std::complex<long double>{});
  }
  return out;
}

namespace {

/// Sums moved by half a unit of rounding for each root of `steps` times the root of `squares`.
Array movedSums(const Array& result, const Array& squares, double steps, uint64_t seed) {
  const double unit = roundoff(result.dtype);
  const Array sizes = contiguous(squares);
  const double* size = sizes.data<double>() + sizes.offset;
  Array out = contiguous(result);
  out.numbers = std::make_shared<Numbers>(*out.numbers);
  auto move = [&](auto* to) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      const double growth = (std::sqrt(steps) + 2) / 2 * std::sqrt(size[i]);
      to[i] = movedSum(to[i], unit * finiteOrZero(growth), seed, static_cast<uint64_t>(i));
    }
  };
  if (out.kind() == HostNumber::Real) {
    move(out.data<double>() + out.offset);
  } else {
    move(out.data<Complex>() + out.offset);
  }
  return out;
}

}  // namespace

Array disturbedProduct(const Expr* op, const Array& result, uint64_t seed, Context& context) {
  if (result.kind() == HostNumber::Integer) {
    return result;
  }
  const auto length = static_cast<double>(context.operand(op->input(0)).sizes.back());
  return movedSums(result, sizesOfProductTerms(op, context), length, seed);
}

Array disturbedScan(const ScanOp* op, const Array& result, uint64_t seed, Context& context) {
  if (result.kind() == HostNumber::Integer) {
    return result;
  }
  Array out = movedSums(result, sizesOfScanTerms(op, result, context), 1, seed);
  const Array exact = contiguous(result);
  // Parts of a line are combined apart: what leaves the range on the way does so in some order.
  auto leaveRange = [&]<typename T, typename Wide>(T, Wide) {
    Addition<Wide> sum;
    Multiplication product;
    T* to = out.data<T>() + out.offset;
    const T* results = exact.data<T>() + exact.offset;
    forEachScanned<T>(op, context, [&](size_t at, T x, bool is_first) {
      if (is_first) {
        sum = {};
        product = {};
      }
      sum.add(Wide(x));
      product.multiply(std::abs(x));
      if (op->scanType() == BinaryOpType::Add && sum.mayOverflow(result.dtype)) {
        to[at] = isSecondPair(seed) ? T(undetermined()) : to[at];
      } else if (op->scanType() == BinaryOpType::Mul) {
        const std::vector<double> possible =
            product.beyondRange(result.dtype, std::signbit(std::real(results[at])));
        if (!possible.empty()) {
          to[at] = isSecondPair(seed) ? T(undetermined()) : T(oneOf(possible, seed, at));
        }
      }
    });
  };
  if (out.kind() == HostNumber::Real) {
    leaveRange(double{}, static_cast<long double>(0));
  } else {
    leaveRange(Complex{}, std::complex<long double>{});
  }
  return out;
}

double disturbedSum(double sum, double squares, double steps, uint64_t seed, uint64_t i) {
  const double growth = (std::sqrt(steps) + 2) / 2 * std::sqrt(squares);
  return moved(sum, roundoff(DataType::Float) * finiteOrZero(growth), seed, i);
}

void disturbWelford(std::vector<Array>& results, uint64_t seed) {
  const double unit = roundoff(results[0].dtype);
  const double greatest = greatestOf(results[0].dtype);
  for (Array* array : {&results[0], &results[1]}) {
    *array = contiguous(*array);
    array->numbers = std::make_shared<Numbers>(*array->numbers);
  }
  const Array counts = contiguous(convert(results[2], DataType::Double));
  double* mean = results[0].data<double>() + results[0].offset;
  double* squares = results[1].data<double>() + results[1].offset;
  const double* count = counts.data<double>() + counts.offset;
  for (int64_t i = 0; i < results[0].numel(); ++i) {
    const double n = count[i];
    if (n < 2) {
      continue;
    }
    const double growth = unit * std::sqrt(n) / 2;
    const double size = std::sqrt(mean[i] * mean[i] + squares[i] / n);
    // Deviations from a mean that is off by its own error.
    const double moment = squares[i] + std::sqrt(squares[i] * n) * std::fabs(mean[i]);
    const auto at = static_cast<uint64_t>(i);
    // Whether an infinity, given or on the way, meets another depends on the order: in means of
    // parts, whose difference d is at most √(n·squares), and in d²·n. A mean of finite numbers may
    // also lose all its digits, and be zero.
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const bool may_vanish = std::fabs(mean[i]) <= growth * size;
    if (!std::isfinite(mean[i]) || std::sqrt(n * squares[i]) > greatest / 2) {
      mean[i] = may_vanish ? oneOf({nan, infinity, -infinity, 0}, seed, at)
                           : oneOf({nan, infinity, -infinity}, seed, at);
    } else {
      mean[i] = movedSum(mean[i], growth * finiteOrZero(size), seed, 2 * at);
    }
    if (!std::isfinite(squares[i]) || n * moment > greatest || size > greatest) {
      squares[i] = oneOf({nan, infinity, -infinity}, seed, at);
      continue;
    }
    squares[i] = moved(squares[i], growth * finiteOrZero(moment), seed, 2 * at + 1);
  }
}

}  // namespace nvfuser::reference
