// Operations of a library that take an axis line by line: scans, sorting and scatters that combine,
// as they are defined.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <evaluator/operations.h>
#include <evaluator/wide_sums.h>
#include <ir/index_error.h>
#include <ops/table/reference_math.h>

namespace nvfuser::reference {

namespace {

/// One line along an axis: its places in memory.
struct Lane {
  int64_t start;
  int64_t step;
  int64_t length;
};

/// Calls `body(out_lane, in_lane)` for each line along `dim` of arrays of equal other sizes.
template <typename Body>
void forEachLane(const Array& out, const Array& in, size_t dim, const Body& body) {
  if (in.rank() == 0) {
    return body(Lane{out.offset, 1, 1}, Lane{in.offset, 1, 1});
  }
  std::vector<int64_t> sizes = in.sizes;
  sizes[dim] = 1;
  forEachRun<2>(
      sizes, {out.strides, in.strides}, {out.offset, in.offset},
      [&](int64_t length, const std::array<int64_t, 2>& start, const std::array<int64_t, 2>& step) {
        for (int64_t i = 0; i < length; ++i) {
          body(Lane{start[0] + i * step[0], out.strides[dim], out.sizes[dim]},
               Lane{start[1] + i * step[1], in.strides[dim], in.sizes[dim]});
        }
      });
}

template <typename T>
typename Wide<T>::Type combined(BinaryOpType type, typename Wide<T>::Type a, T next,
                                DataType dtype) {
  using Sum = typename Wide<T>::Type;
  const Sum b = Sum(next);
  using enum BinaryOpType;
  if (type == Add) {
    return a + b;
  }
  if (type == Mul) {
    return a * b;
  }
  if constexpr (std::is_same_v<T, int64_t>) {
    const bool less =
        dtype == DataType::UInt64 ? a < b : static_cast<int64_t>(a) < static_cast<int64_t>(b);
    return less == (type == Max || type == FMax) ? b : a;
  } else if constexpr (std::is_same_v<T, double>) {
    switch (type) {
      case Max:
        return maxNan<long double>(a, b);
      case Min:
        return minNan<long double>(a, b);
      case FMax:
        return maxNumber<long double>(a, b);
      default:
        return minNumber<long double>(a, b);
    }
  }
  throwInternal("complex numbers have no order", std::source_location::current());
}

/// Whether a stands before b; NaN is the greatest number.
template <typename T>
bool before(T a, T b, DataType dtype) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return dtype == DataType::UInt64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isnan(b) ? !std::isnan(a) : a < b;
  } else {
    throwInternal("complex numbers have no order", std::source_location::current());
  }
}

/// Positions in order; equal ones as they stand.
template <typename T>
std::vector<int64_t> sortedPositions(const T* data, const Lane& lane, bool descending,
                                     DataType dtype) {
  std::vector<int64_t> order(static_cast<size_t>(lane.length));
  std::iota(order.begin(), order.end(), int64_t{0});
  auto at = [&](int64_t i) { return data[lane.start + i * lane.step]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return descending ? before(at(b), at(a), dtype) : before(at(a), at(b), dtype);
  });
  return order;
}

}  // namespace

Array scan(const ScanOp* op, Context& context) {
  const Array in = context.operand(op->input(0));
  Array out = makeArray(in.dtype, in.sizes);
  const auto dim = static_cast<size_t>(op->dim());
  withNumberType(out.kind(), [&](auto type) {
    using T = decltype(type);
    using Sum = typename Wide<T>::Type;
    const T* from = in.data<T>();
    T* to = out.data<T>();
    std::optional<T> init;
    if (op->inputs().size() > 1) {
      const Array given = convert(context.operand(op->input(1)), in.dtype);
      init = given.data<T>()[given.offset];
    }
    forEachLane(out, in, dim, [&](const Lane& result, const Lane& lane) {
      Sum sum{};
      for (int64_t step = 0; step < lane.length; ++step) {
        const int64_t i = op->isBackward() ? lane.length - 1 - step : step;
        const T next = from[lane.start + i * lane.step];
        if (step == 0) {
          sum = init ? combined<T>(op->scanType(), Sum(*init), next, in.dtype) : Sum(next);
        } else {
          sum = combined<T>(op->scanType(), sum, next, in.dtype);
        }
        to[result.start + i * result.step] = narrow<T>(sum, in.dtype);
      }
    });
  });
  return out;
}

template <typename T>
void forEachScanned(const ScanOp* op, Context& context,
                    const std::function<void(size_t result, T element, bool is_first)>& body) {
  const Array in = context.operand(op->input(0));
  const Array out = makeArray(in.dtype, in.sizes);  // for its strides
  const T* from = in.data<T>();
  forEachLane(out, in, static_cast<size_t>(op->dim()), [&](const Lane& to, const Lane& lane) {
    for (int64_t step = 0; step < lane.length; ++step) {
      const int64_t i = op->isBackward() ? lane.length - 1 - step : step;
      body(static_cast<size_t>(to.start + i * to.step), from[lane.start + i * lane.step],
           step == 0);
    }
  });
}
template void forEachScanned(const ScanOp*, Context&,
                             const std::function<void(size_t, double, bool)>&);
template void forEachScanned(const ScanOp*, Context&,
                             const std::function<void(size_t, Complex, bool)>&);

Array sizesOfScanTerms(const ScanOp* op, const Array& result, Context& context) {
  const Array in = context.operand(op->input(0));
  Array sizes = makeArray(DataType::Double, result.sizes);
  const Array of_in = squares(in);
  const Array of_out = squares(result);
  const bool adds = op->scanType() == BinaryOpType::Add;
  const bool multiplies = op->scanType() == BinaryOpType::Mul;
  forEachLane(sizes, of_in, static_cast<size_t>(op->dim()), [&](const Lane& to, const Lane& lane) {
    double sum = 0;
    for (int64_t step = 0; step < lane.length; ++step) {
      const int64_t i = op->isBackward() ? lane.length - 1 - step : step;
      sum += of_in.data<double>()[lane.start + i * lane.step];
      const double term =
          adds ? sum : of_out.data<double>()[of_out.offset + to.start + i * to.step];
      sizes.data<double>()[to.start + i * to.step] =
          adds || multiplies ? static_cast<double>(step) * term : 0;
    }
  });
  return sizes;
}

Array argsort(const ArgsortOp* op, Context& context) {
  const Array in = context.operand(op->input(0));
  Array out = makeArray(DataType::Int, in.sizes);
  auto* to = out.data<int64_t>();
  withNumberType(in.kind(), [&](auto type) {
    using T = decltype(type);
    forEachLane(out, in, static_cast<size_t>(op->dim()), [&](const Lane& result, const Lane& lane) {
      const auto order = sortedPositions(in.data<T>(), lane, op->isDescending(), in.dtype);
      for (int64_t i = 0; i < lane.length; ++i) {
        to[result.start + i * result.step] = order[static_cast<size_t>(i)];
      }
    });
  });
  return out;
}

std::vector<Array> topk(const TopKOp* op, Context& context) {
  const Array in = context.operand(op->input(0));
  const auto dim = static_cast<size_t>(op->dim());
  const int64_t k = onlyElement(context.operand(op->input(1))).as<int64_t>();
  const int64_t length = in.rank() == 0 ? 1 : in.sizes[dim];
  if (k < 0 || k > length) {
    userError("topk: k is ", k, " for an axis of extent ", length, ", in ", *op,
              "; it lies between 0 and that");
  }
  std::vector<int64_t> sizes = in.sizes;
  if (in.rank() != 0) {
    sizes[dim] = k;
  }
  Array values = makeArray(in.dtype, sizes);
  Array indices = makeArray(DataType::Int, sizes);
  withNumberType(in.kind(), [&](auto type) {
    using T = decltype(type);
    const T* from = in.data<T>();
    forEachLane(values, in, dim, [&](const Lane& result, const Lane& lane) {
      const auto order = sortedPositions(from, lane, op->isLargest(), in.dtype);
      for (int64_t i = 0; i < k; ++i) {
        const int64_t at = order[static_cast<size_t>(i)];
        values.data<T>()[result.start + i * result.step] = from[lane.start + at * lane.step];
        indices.data<int64_t>()[result.start + i * result.step] = at;
      }
    });
  });
  return {values, indices};
}

void accumulate(const ScatterOp* op, Array& out, const Array& source, const Array& index) {
  const auto dim = static_cast<size_t>(op->dim());
  std::vector<int64_t> sizes = index.sizes;
  sizes[dim] = std::min<int64_t>(sizes[dim], 1);
  withNumberType(out.kind(), [&](auto type) {
    using T = decltype(type);
    using Sum = typename Wide<T>::Type;
    std::vector<Sum> sums(static_cast<size_t>(out.sizes[dim]));
    T* to = out.data<T>();
    const T* from = source.data<T>();
    const auto* positions = index.data<int64_t>();
    forEachRun<3>(
        sizes, {out.strides, source.strides, index.strides}, {0, source.offset, index.offset},
        [&](int64_t count, const std::array<int64_t, 3>& start,
            const std::array<int64_t, 3>& step) {
          for (int64_t line = 0; line < count; ++line) {
            T* own = to + start[0] + line * step[0];
            for (int64_t i = 0; i < out.sizes[dim]; ++i) {
              sums[static_cast<size_t>(i)] = Sum(own[i * out.strides[dim]]);
            }
            for (int64_t i = 0; i < index.sizes[dim]; ++i) {
              const int64_t at = positions[start[2] + line * step[2] + i * index.strides[dim]];
              if (at < 0 || at >= out.sizes[dim]) {
                indexOutOfRange(*op, at, out.sizes[dim]);
              }
              Sum& sum = sums[static_cast<size_t>(at)];
              sum =
                  combined<T>(*op->accumulateOp(), sum,
                              from[start[1] + line * step[1] + i * source.strides[dim]], out.dtype);
            }
            for (int64_t i = 0; i < out.sizes[dim]; ++i) {
              own[i * out.strides[dim]] = narrow<T>(sums[static_cast<size_t>(i)], out.dtype);
            }
          }
        });
  });
}

}  // namespace nvfuser::reference
