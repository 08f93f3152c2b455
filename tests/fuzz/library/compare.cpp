#include <fuzz/library/compare.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include <evaluator/interpreter.h>
#include <support/error.h>

namespace nvfuser::fuzz {

namespace {

/// Numbers below are of no matter: a device may flush them to zero.
double leastNumber(DataType dtype) {
  switch (getTypeFromComplexType(dtype).type) {
    case PrimDataType::Half:
      return 0x1p-24;
    case PrimDataType::Float8_e4m3fn:
      return 0x1p-9;
    case PrimDataType::Float8_e5m2:
      return 0x1p-16;
    default:
      return 0x1p-126;
  }
}

std::string indexText(const std::vector<int64_t>& sizes, int64_t i) {
  std::vector<int64_t> index(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0;) {
    index[axis] = i % sizes[axis];
    i /= sizes[axis];
  }
  return text("[", join(index, ", "), "]");
}

std::string elementText(const HostTensor& tensor, int64_t i) {
  if (isComplexType(tensor.dtype())) {
    return PolymorphicValue(tensor.getComplex(i)).toString();
  }
  return isFloatingPointType(tensor.dtype()) ? text(tensor.getDouble(i)) : text(tensor.getInt(i));
}

enum class Class : uint8_t { Nan, Positive, Negative, Finite };
Class classOf(double number) {
  return std::isnan(number)      ? Class::Nan
         : std::isfinite(number) ? Class::Finite
         : number > 0            ? Class::Positive
                                 : Class::Negative;
}
bool sameClass(std::complex<double> a, std::complex<double> b) {
  return classOf(a.real()) == classOf(b.real()) && classOf(a.imag()) == classOf(b.imag());
}
bool isFinite(std::complex<double> a) { return std::isfinite(a.real()) && std::isfinite(a.imag()); }
bool same(std::complex<double> a, std::complex<double> b) {
  const auto equal = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return equal(a.real(), b.real()) && equal(a.imag(), b.imag());
}

double rootMeanSquare(const HostTensor& tensor) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const double value = std::abs(tensor.getComplex(i));
    if (std::isfinite(value * value)) {
      sum += value * value;
      ++count;
    }
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

/// What is found of one element.
enum class Verdict : uint8_t { Right, Skipped, Wrong };

class Judge {
 public:
  Judge(const HostTensor& got, const Expected& expected)
      : got_(got), references_(expected.references), right_(expected.references[0]) {
    unit_out_ = roundoff(got.dtype());
    scale_ = expected.unit * (8 + 4 * expected.operations + 4 * std::sqrt(expected.reduced));
    magnitude_ = expected.reduced > 1 ? rootMeanSquare(right_) : 0;
    is_exact_ = references_.size() == 1 ||
                !(isFloatingPointType(got.dtype()) || isComplexType(got.dtype()));
  }

  Verdict of(int64_t i) {
    if (!isFloatingPointType(got_.dtype()) && !isComplexType(got_.dtype())) {
      const int64_t value = got_.getInt(i);
      const bool agrees =
          std::all_of(references_.begin(), references_.end(),
                      [&](const HostTensor& other) { return other.getInt(i) == right_.getInt(i); });
      return value == right_.getInt(i) ? Verdict::Right
             : agrees                  ? Verdict::Wrong
                                       : Verdict::Skipped;
    }
    const std::complex<double> value = got_.getComplex(i);
    const std::complex<double> right = right_.getComplex(i);
    if (same(value, right)) {
      return Verdict::Right;
    }
    if (is_exact_) {
      return Verdict::Wrong;
    }
    double spread = 0;
    double factor = 0;  // the same, in logarithms
    for (const HostTensor& reference : references_) {
      const std::complex<double> other = reference.getComplex(i);
      if (!sameClass(other, right) || isUndetermined(other.real()) ||
          isUndetermined(other.imag())) {
        return Verdict::Skipped;
      }
      const double distance = std::abs(other - right);
      spread = std::max(spread, std::isfinite(distance) ? distance : 0);
      factor = std::max(factor, logDistance(other, right));
    }
    const double size = std::abs(right);
    tolerance = 2 * unit_out_ * size + scale_ * (size + magnitude_) + 8 * spread +
                leastNumber(got_.dtype());
    // Near to a Float's underflow a factor of the result may be 0 already: x · sigmoid(x) at -88.
    const bool is_loose = tolerance > 0.1 * size || size < 0x1p-119;
    if (is_loose && isFinite(right) && logDistance(value, right) <= 8 * factor) {
      return Verdict::Skipped;
    }
    if (!sameClass(value, right)) {
      // Beyond the greatest number by a rounding.
      return isFinite(right) && nearTheEnd(right) ? Verdict::Skipped : Verdict::Wrong;
    }
    if (!isFinite(right)) {
      return Verdict::Right;  // of one class; parts that are finite are of no matter
    }
    const double error = std::abs(value - right);
    if (error <= tolerance) {
      return is_loose ? Verdict::Skipped : Verdict::Right;
    }
    return is_loose && error <= std::max(size, 64 * tolerance) ? Verdict::Skipped : Verdict::Wrong;
  }

  double tolerance = 0;  ///< of the last element

 private:
  double greatest() const {
    const DataType dtype = getTypeFromComplexType(got_.dtype());
    return dtype == DataType::Half            ? 65504
           : dtype == DataType::Float8_e4m3fn ? 448
           : dtype == DataType::Float8_e5m2   ? 57344
           : dtype == DataType::Double        ? 0x1p1023
                                              : 0x1p127;
  }
  bool nearTheEnd(std::complex<double> value) const {
    return std::max(std::abs(value.real()), std::abs(value.imag())) > greatest() / 2;
  }
  /// |ln(a / b)| for real numbers of one sign, infinities taken for the greatest number and numbers
  /// near to zero for the least; infinite for others.
  double logDistance(std::complex<double> a, std::complex<double> b) const {
    const double x = a.real();
    const double y = b.real();
    if (isComplexType(got_.dtype()) || std::isnan(x) || std::isnan(y) ||
        std::signbit(x) != std::signbit(y)) {
      return std::numeric_limits<double>::infinity();
    }
    const auto logarithm = [&](double number) {
      return std::log(std::clamp(std::abs(number), leastNumber(got_.dtype()), greatest()));
    };
    return std::abs(logarithm(x) - logarithm(y));
  }

  const HostTensor& got_;
  const std::vector<HostTensor>& references_;
  const HostTensor& right_;
  double unit_out_ = 0;
  double scale_ = 0;
  double magnitude_ = 0;
  bool is_exact_ = false;
};

}  // namespace

Comparison compareOutput(const HostTensor& got, const Expected& expected) {
  const HostTensor& right = expected.references.at(0);
  Comparison result;
  result.elements = got.numel();
  if (got.dtype() != right.dtype() || got.sizes() != right.sizes()) {
    result.mismatch =
        text("is ", dataTypeName(got.dtype()), "[", join(got.sizes(), ", "), "], expected ",
             dataTypeName(right.dtype()), "[", join(right.sizes(), ", "), "]");
    return result;
  }
  Judge judge(got, expected);
  int64_t wrong = 0;
  for (int64_t i = 0; i < got.numel(); ++i) {
    const Verdict verdict = judge.of(i);
    result.skipped += verdict == Verdict::Skipped ? 1 : 0;
    if (verdict == Verdict::Wrong && wrong++ == 0) {
      result.mismatch =
          text("differs at ", indexText(got.sizes(), i), ": got ", elementText(got, i),
               ", expected ", elementText(right, i), ", tolerance ", judge.tolerance);
    }
  }
  if (wrong > 0) {
    append(result.mismatch, text(" (", wrong, " of ", got.numel(), " elements are wrong)"));
  }
  return result;
}

}  // namespace nvfuser::fuzz
