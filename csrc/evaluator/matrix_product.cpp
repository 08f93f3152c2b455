// Products of matrices, as they are defined.

#include <algorithm>

#include <evaluator/operations.h>
#include <evaluator/wide_sums.h>

namespace nvfuser::reference {

namespace {

/// `array` as a batch of matrices: at least two axes.
Array asMatrices(Array array, bool is_row) {
  if (array.rank() == 1) {
    array.sizes.insert(is_row ? array.sizes.begin() : array.sizes.end(), 1);
    array.strides.insert(is_row ? array.strides.begin() : array.strides.end(), 0);
  }
  return array;
}

Array product(Array a, Array b, const Expr* op) {
  const bool has_rows = a.rank() > 1;
  const bool has_columns = b.rank() > 1;
  a = asMatrices(std::move(a), true);
  b = asMatrices(std::move(b), false);
  const int64_t rows = a.sizes[a.rank() - 2];
  const int64_t length = a.sizes.back();
  const int64_t columns = b.sizes.back();
  if (b.sizes[b.rank() - 2] != length) {
    userError(op->getOpString(), ": ", length, " and ", b.sizes[b.rank() - 2],
              " elements cannot be multiplied and summed, in ", *op);
  }
  auto batchOf = [](const Array& array) {
    Array batch = array;
    batch.sizes.resize(array.rank() - 2);
    batch.strides.resize(array.rank() - 2);
    return batch;
  };
  Array batch_a = batchOf(a);
  Array batch_b = batchOf(b);
  const size_t axes = std::max(batch_a.rank(), batch_b.rank());
  for (Array* batch : {&batch_a, &batch_b}) {
    const size_t missing = axes - batch->rank();
    batch->sizes.insert(batch->sizes.begin(), missing, 1);
    batch->strides.insert(batch->strides.begin(), missing, 0);
  }
  const std::vector<int64_t> batches = commonSizes({&batch_a, &batch_b}, op->getOpString());
  std::vector<int64_t> sizes = batches;
  sizes.push_back(rows);
  sizes.push_back(columns);
  Array out = makeArray(a.dtype, sizes);
  std::vector<int64_t> out_strides(out.strides.begin(), out.strides.end() - 2);
  withNumberType(out.kind(), [&](auto type) {
    using T = decltype(type);
    using Sum = typename Wide<T>::Type;
    const T* from_a = a.data<T>();
    const T* from_b = b.data<T>();
    T* to = out.data<T>();
    forEachRun<3>(
        batches,
        {out_strides, broadcastTo(batch_a, batches).strides, broadcastTo(batch_b, batches).strides},
        {0, a.offset, b.offset},
        [&](int64_t count, const std::array<int64_t, 3>& start,
            const std::array<int64_t, 3>& step) {
          for (int64_t i = 0; i < count * rows * columns; ++i) {
            const int64_t matrix = i / (rows * columns);
            const int64_t row = i / columns % rows;
            const int64_t column = i % columns;
            const T* left = from_a + start[1] + matrix * step[1] + row * a.strides[a.rank() - 2];
            const T* right = from_b + start[2] + matrix * step[2] + column * b.strides.back();
            Sum sum{};
            for (int64_t k = 0; k < length; ++k) {
              sum += Sum(left[k * a.strides.back()]) * Sum(right[k * b.strides[b.rank() - 2]]);
            }
            to[start[0] + matrix * step[0] + row * columns + column] = narrow<T>(sum, out.dtype);
          }
        });
  });
  if (!has_columns) {
    out.sizes.pop_back();
    out.strides.pop_back();
  }
  if (!has_rows) {
    const auto at = static_cast<std::ptrdiff_t>(out.rank() - (has_columns ? 2 : 1));
    out.sizes.erase(out.sizes.begin() + at);
    out.strides.erase(out.strides.begin() + at);
  }
  return out;
}

Array transposed(Array matrix) {
  if (matrix.rank() == 2) {
    std::swap(matrix.sizes[0], matrix.sizes[1]);
    std::swap(matrix.strides[0], matrix.strides[1]);
  }
  return matrix;
}

Array productOf(const Expr* op, const Array& a, const Array& b) {
  return product(a, op->isA<LinearOp>() ? transposed(b) : b, op);
}

}  // namespace

Array matmul(const MatmulOp* op, Context& context) {
  return product(context.operand(op->input(0)), context.operand(op->input(1)), op);
}

Array linear(const LinearOp* op, Context& context) {
  const Array sums = productOf(op, context.operand(op->input(0)), context.operand(op->input(1)));
  if (!op->hasBias()) {
    return sums;
  }
  Array bias = context.operand(op->input(2));
  if (bias.rank() != 0) {
    bias.sizes.insert(bias.sizes.begin(), sums.rank() - 1, 1);
    bias.strides.insert(bias.strides.begin(), sums.rank() - 1, 0);
  }
  return withNumberType(sums.kind(), [&](auto type) {
    using T = decltype(type);
    return mapElements<T, T>(
        std::array<Array, 2>{sums, bias}, sums.sizes, sums.dtype, [&](T a, T b) {
          if constexpr (std::is_same_v<T, int64_t>) {
            const auto sum = static_cast<uint64_t>(a) + static_cast<uint64_t>(b);
            return wrapToDtype(static_cast<int64_t>(sum), sums.dtype);
          } else {
            return a + b;
          }
        });
  });
}

Array sizesOfProductTerms(const Expr* op, Context& context) {
  const Array a = context.operand(op->input(0));
  return productOf(op, squares(a), squares(context.operand(op->input(1))));
}

}  // namespace nvfuser::reference
