// Reductions. An rFactor'd output has reduction axes that were split; what a split pads is the
// neutral element.

#include <cmath>
#include <limits>
#include <numeric>

#include <evaluator/operations.h>
#include <ops/table/reference_math.h>

namespace nvfuser::reference {

namespace {

/// The element that changes nothing when combined: what a padded position holds.
PolymorphicValue neutralElement(BinaryOpType type, DataType dtype) {
  using enum BinaryOpType;
  const HostNumber kind = hostNumber(dtype);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_signed = !isUnsignedIntegralType(dtype) && !isBooleanType(dtype);
  const int64_t bits = dataTypeSizeBit(dtype);
  const auto ones = static_cast<int64_t>(bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
  const int64_t largest =
      isBooleanType(dtype) ? 1
                           : (is_signed ? static_cast<int64_t>(~uint64_t{0} >> (65 - bits)) : ones);
  switch (type) {
    case Add:
    case BitwiseOr:
    case BitwiseXor:
    case LogicalOr:
      return 0;
    case Mul:
    case LogicalAnd:
      return 1;
    case BitwiseAnd:
      return isBooleanType(dtype) ? int64_t{1} : wrapToDtype(-1, dtype);
    case Max:
    case FMax:
      if (kind == HostNumber::Integer) {
        return is_signed ? -largest - 1 : int64_t{0};
      }
      return -kInfinity;
    case Min:
    case FMin:
      if (kind == HostNumber::Integer) {
        return largest;
      }
      return kInfinity;
    default:
      userError("a tensor cannot be reduced by this operation: it has no neutral element");
  }
}

/// Calls `combine(accumulator, element)` for each element, grouped by result. `in` has the axes
/// `axes`, `out` those of them that are no reductions.
template <typename In, typename Accumulator, typename Combine>
void combineInto(const Array& in, const std::vector<IterDomain*>& axes,
                 std::vector<Accumulator>& results, const std::vector<int64_t>& result_sizes,
                 const Combine& combine) {
  const std::vector<int64_t> result_strides = rowMajorStrides(result_sizes);
  std::vector<int64_t> strides;
  size_t kept = 0;
  for (const IterDomain* id : axes) {
    strides.push_back(id->isReduction() ? 0 : result_strides[kept++]);
  }
  const In* elements = in.data<In>();
  forEachRun<2>(
      in.sizes, {strides, in.strides}, {0, in.offset},
      [&](int64_t length, const std::array<int64_t, 2>& start, const std::array<int64_t, 2>& step) {
        for (int64_t i = 0; i < length; ++i) {
          combine(results[static_cast<size_t>(start[0] + i * step[0])],
                  elements[start[1] + i * step[1]]);
        }
      });
}

std::vector<int64_t> keptSizes(const Array& in, const std::vector<IterDomain*>& axes) {
  std::vector<int64_t> sizes;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (!axes[axis]->isReduction()) {
      sizes.push_back(in.sizes[axis]);
    }
  }
  return sizes;
}

size_t count(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    product *= size;
  }
  return static_cast<size_t>(product);
}

/// The operand of a reduction over the axes of the output's logical domain.
Array overLogicalAxes(const Val* in, const TensorView* out, const PolymorphicValue& fill,
                      Context& context) {
  const std::vector<IterDomain*>& root = out->getMaybeRootDomain();
  Array array = context.operand(in);
  if (array.rank() == 0 && !root.empty()) {
    throwInternal("a reduction reads a scalar", std::source_location::current());
  }
  return transformAxes(array, root, out->getLogicalDomain(), fill, context);
}

Array reduceIntegers(const Array& in, const std::vector<IterDomain*>& axes, BinaryOpType type,
                     DataType dtype, int64_t init) {
  using enum BinaryOpType;
  const std::vector<int64_t> sizes = keptSizes(in, axes);
  std::vector<int64_t> results(count(sizes), init);
  const bool is_unsigned = dtype == DataType::UInt64;
  auto less = [&](int64_t a, int64_t b) {
    return is_unsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  };
  auto run = [&](const auto& combine) { combineInto<int64_t>(in, axes, results, sizes, combine); };
  switch (type) {
    case Add:
      run([](int64_t& a, int64_t x) {
        a = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(x));
      });
      break;
    case Mul:
      run([](int64_t& a, int64_t x) {
        a = static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(x));
      });
      break;
    case Max:
    case FMax:
      run([&](int64_t& a, int64_t x) { a = less(a, x) ? x : a; });
      break;
    case Min:
    case FMin:
      run([&](int64_t& a, int64_t x) { a = less(x, a) ? x : a; });
      break;
    case BitwiseAnd:
      run([](int64_t& a, int64_t x) { a &= x; });
      break;
    case BitwiseOr:
      run([](int64_t& a, int64_t x) { a |= x; });
      break;
    case BitwiseXor:
      run([](int64_t& a, int64_t x) { a ^= x; });
      break;
    case LogicalAnd:
      run([](int64_t& a, int64_t x) { a = (a != 0 && x != 0) ? 1 : 0; });
      break;
    case LogicalOr:
      run([](int64_t& a, int64_t x) { a = (a != 0 || x != 0) ? 1 : 0; });
      break;
    default:
      neutralElement(type, dtype);  // throws
  }
  Array out = makeArray(dtype, sizes);
  for (size_t i = 0; i < results.size(); ++i) {
    out.data<int64_t>()[i] = wrapToDtype(results[i], dtype);
  }
  return out;
}

Array reduceReals(const Array& in, const std::vector<IterDomain*>& axes, BinaryOpType type,
                  DataType dtype, double init) {
  using enum BinaryOpType;
  const std::vector<int64_t> sizes = keptSizes(in, axes);
  std::vector<long double> results(count(sizes), init);
  auto run = [&](const auto& combine) { combineInto<double>(in, axes, results, sizes, combine); };
  switch (type) {
    case Add:
      run([](long double& a, double x) { a += x; });
      break;
    case Mul:
      run([](long double& a, double x) { a *= x; });
      break;
    case Max:
      run([](long double& a, double x) { a = maxNan<long double>(a, x); });
      break;
    case Min:
      run([](long double& a, double x) { a = minNan<long double>(a, x); });
      break;
    case FMax:
      run([](long double& a, double x) { a = maxNumber<long double>(a, x); });
      break;
    case FMin:
      run([](long double& a, double x) { a = minNumber<long double>(a, x); });
      break;
    default:
      userError("a tensor of dtype ", dataTypeName(dtype), " cannot be reduced by this operation");
  }
  Array out = makeArray(dtype, sizes);
  for (size_t i = 0; i < results.size(); ++i) {
    out.data<double>()[i] = static_cast<double>(results[i]);
  }
  return out;
}

Array reduceComplex(const Array& in, const std::vector<IterDomain*>& axes, BinaryOpType type,
                    DataType dtype, Complex init) {
  using Wide = std::complex<long double>;
  const std::vector<int64_t> sizes = keptSizes(in, axes);
  std::vector<Wide> results(count(sizes), Wide(init));
  if (type == BinaryOpType::Add) {
    combineInto<Complex>(in, axes, results, sizes, [](Wide& a, const Complex& x) { a += Wide(x); });
  } else if (type == BinaryOpType::Mul) {
    combineInto<Complex>(in, axes, results, sizes, [](Wide& a, const Complex& x) { a *= Wide(x); });
  } else {
    userError("complex numbers have no order and no bits; they can be summed and multiplied");
  }
  Array out = makeArray(dtype, sizes);
  for (size_t i = 0; i < results.size(); ++i) {
    out.data<Complex>()[i] = {static_cast<double>(results[i].real()),
                              static_cast<double>(results[i].imag())};
  }
  return out;
}

/// Mean, sum of squared deviations and number of a group of numbers. Those of no numbers have no
/// mean, and count for nothing.
struct Moments {
  long double mean = std::numeric_limits<long double>::quiet_NaN();
  long double squares = 0;
  long double count = 0;

  void add(long double other_mean, long double other_squares, long double other_count) {
    if (other_count == 0) {
      return;
    }
    if (count == 0) {
      mean = 0;
    }
    const long double total = count + other_count;
    const long double delta = other_mean - mean;
    const long double share = other_count / total;
    mean += delta * share;
    squares += other_squares + delta * delta * count * share;
    count = total;
  }
};

}  // namespace

Array reduce(const ReductionOp* op, Context& context) {
  const auto* tv = op->out()->as<TensorView>();
  const DataType dtype = tv->dtype();
  const BinaryOpType type = op->getReductionOpType();
  const std::vector<IterDomain*>& axes = tv->getLogicalDomain();
  const Array in = convert(
      overLogicalAxes(op->in(), tv, neutralElement(type, op->in()->dtype()), context), dtype);
  const PolymorphicValue init = onlyElement(convert(context.operand(op->init()), dtype));
  switch (hostNumber(dtype)) {
    case HostNumber::Integer:
      return reduceIntegers(in, axes, type, dtype, init.as<int64_t>());
    case HostNumber::Real:
      return reduceReals(in, axes, type, dtype, init.as<double>());
    case HostNumber::Complex:
      break;
  }
  return reduceComplex(in, axes, type, dtype, init.as<Complex>());
}

template <typename T>
void forEachReduced(const ReductionOp* op, Context& context,
                    const std::function<void(size_t result, T element)>& body) {
  const auto* tv = op->out()->as<TensorView>();
  const Array in =
      convert(overLogicalAxes(op->in(), tv,
                              neutralElement(op->getReductionOpType(), op->in()->dtype()), context),
              tv->dtype());
  const std::vector<int64_t> sizes = keptSizes(in, tv->getLogicalDomain());
  std::vector<size_t> results(count(sizes));
  std::iota(results.begin(), results.end(), size_t{0});
  combineInto<T>(in, tv->getLogicalDomain(), results, sizes, body);
}
template void forEachReduced<double>(const ReductionOp*, Context&,
                                     const std::function<void(size_t, double)>&);
template void forEachReduced<Complex>(const ReductionOp*, Context&,
                                      const std::function<void(size_t, Complex)>&);

std::vector<Array> welford(const WelfordOp* op, Context& context) {
  const auto* tv = op->outAvg()->as<TensorView>();
  const std::vector<IterDomain*>& axes = tv->getLogicalDomain();
  const Array mean = convert(overLogicalAxes(op->inAvg(), tv, 0.0, context), DataType::Double);
  // Scalars stand for one number each; where a split pads, there is none.
  auto partner = [&](const Val* val) {
    Array array = context.operand(val);
    if (array.rank() == 0) {
      array = broadcastTo(array, context.operand(op->inAvg()).sizes);
    }
    array = transformAxes(array, tv->getMaybeRootDomain(), axes, 0, context);
    return broadcastTo(convert(array, DataType::Double), mean.sizes);
  };
  const Array squares = partner(op->inVar());
  const Array number = partner(op->inN());

  const std::vector<int64_t> sizes = keptSizes(mean, axes);
  const std::vector<int64_t> result_strides = rowMajorStrides(sizes);
  std::vector<int64_t> strides;
  size_t kept = 0;
  for (const IterDomain* id : axes) {
    strides.push_back(id->isReduction() ? 0 : result_strides[kept++]);
  }
  std::vector<Moments> moments(count(sizes));
  const auto* means = mean.data<double>();
  const auto* deviations = squares.data<double>();
  const auto* numbers = number.data<double>();
  forEachRun<4>(
      mean.sizes, {strides, mean.strides, squares.strides, number.strides},
      {0, mean.offset, squares.offset, number.offset},
      [&](int64_t length, const std::array<int64_t, 4>& start, const std::array<int64_t, 4>& step) {
        for (int64_t i = 0; i < length; ++i) {
          moments[static_cast<size_t>(start[0] + i * step[0])].add(
              means[start[1] + i * step[1]], deviations[start[2] + i * step[2]],
              numbers[start[3] + i * step[3]]);
        }
      });

  Array out_mean = makeArray(DataType::Double, sizes);
  Array out_squares = makeArray(DataType::Double, sizes);
  Array out_number = makeArray(DataType::Int, sizes);
  for (size_t i = 0; i < moments.size(); ++i) {
    out_mean.data<double>()[i] = static_cast<double>(moments[i].mean);
    out_squares.data<double>()[i] = static_cast<double>(moments[i].squares);
    out_number.data<int64_t>()[i] = static_cast<int64_t>(moments[i].count);
  }
  // Relabelled rather than converted: rounding is the caller's choice.
  out_mean.dtype = op->outAvg()->dtype();
  out_squares.dtype = op->outVar()->dtype();
  return {out_mean, out_squares, convert(out_number, op->outN()->dtype())};
}

std::vector<Array> onlineSoftmax(const OnlineSoftmaxOp* op, Context& context) {
  const auto* tv = op->outMax()->as<TensorView>();
  const std::vector<IterDomain*>& axes = tv->getLogicalDomain();
  const double lowest = tv->dtype() == DataType::Double
                            ? std::numeric_limits<double>::lowest()
                            : double{std::numeric_limits<float>::lowest()};
  const Array x = convert(overLogicalAxes(op->inMax(), tv, lowest, context), DataType::Double);
  Array part = context.operand(op->inSum());
  if (part.rank() == 0) {
    part = broadcastTo(part, context.operand(op->inMax()).sizes);
  }
  part = transformAxes(part, tv->getMaybeRootDomain(), axes, 0, context);
  part = broadcastTo(convert(part, DataType::Double), x.sizes);

  const std::vector<int64_t> sizes = keptSizes(x, axes);
  std::vector<std::pair<double, double>> results(count(sizes), {lowest, 0.0});
  const std::vector<int64_t> result_strides = rowMajorStrides(sizes);
  std::vector<int64_t> strides;
  size_t kept = 0;
  for (const IterDomain* id : axes) {
    strides.push_back(id->isReduction() ? 0 : result_strides[kept++]);
  }
  forEachRun<3>(
      x.sizes, {strides, x.strides, part.strides}, {0, x.offset, part.offset},
      [&](int64_t length, const std::array<int64_t, 3>& start, const std::array<int64_t, 3>& step) {
        for (int64_t i = 0; i < length; ++i) {
          auto& [max, sum] = results[static_cast<size_t>(start[0] + i * step[0])];
          const double of = x.data<double>()[start[1] + i * step[1]];
          const double more = part.data<double>()[start[2] + i * step[2]];
          const double above = of - max;
          const double share = std::exp(-std::fabs(above));
          sum = above > 0 ? sum * share + more : sum + more * share;
          max = maxNan(max, of);
        }
      });
  Array out_max = makeArray(DataType::Double, sizes);
  Array out_sum = makeArray(DataType::Double, sizes);
  for (size_t i = 0; i < results.size(); ++i) {
    out_max.data<double>()[i] = results[i].first;
    out_sum.data<double>()[i] = results[i].second;
  }
  out_max.dtype = op->outMax()->dtype();
  out_sum.dtype = op->outSum()->dtype();
  return {out_max, out_sum};
}

}  // namespace nvfuser::reference
