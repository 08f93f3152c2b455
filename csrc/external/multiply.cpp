// Products of matrices on the host.
//
// Notation: C is m × n, summed over k. A task computes one tile of C, kTileRows × kTileColumns at
// most, in a buffer of its own, in Float (Double for Double):
//
//   for each block of kDepth of k:  B's part → panels [k][columns of a register block]
//                                   A's part → panels [k][rows of a register block]
//     for each pair of panels:      a register block of the tile += A panel · B panel
//   tile, scaled, + bias, ended → C, rounded once
//
// One row, or a few, times a weight whose rows lie side by side reads the weight once as it is
// (multiplyFewRows). Panels are filled up with zeros, so that register blocks are whole. Every
// element is summed in the same order for any number of threads. Integers and complex numbers take
// plain loops.
#include <algorithm>
#include <array>
#include <vector>

#include <external/elements.h>
#include <external/epilogue.h>
#include <external/panels.h>
#include <external/product.h>

namespace nvfuser::external {

namespace {

constexpr int64_t kTileRows = 96;
constexpr int64_t kTileColumns = 256;
constexpr int64_t kDepth = 256;

template <typename T>
using Pack = void (*)(const void* from, int64_t first, int64_t line_stride, int64_t depth_stride,
                      int64_t count, int64_t depth, int64_t width, T* to);
template <typename T>
using Store = void (*)(const T* numbers, int64_t count, void* to, int64_t first, int64_t stride,
                       DataType dtype);

/// Elements that are summed in `T`.
template <typename From, typename T>
constexpr bool isSummedIn =
    isReal<From> && std::is_same_v<From, double> == std::is_same_v<T, double>;

template <typename T>
Pack<T> packOf(DataType dtype) {
  Pack<T> result = nullptr;
  withElementType(dtype, "matmul", [&](auto type) {
    using From = decltype(type);
    if constexpr (isSummedIn<From, T>) {
      result = [](const void* from, int64_t first, int64_t line_stride, int64_t depth_stride,
                  int64_t count, int64_t depth, int64_t width, T* to) {
        pack(static_cast<const From*>(from) + first, line_stride, depth_stride, count, depth, width,
             to);
      };
    }
  });
  check(result != nullptr, "a product has operands that are summed alike");
  return result;
}

template <typename T>
Store<T> storeOf(DataType dtype) {
  Store<T> result = nullptr;
  withElementType(dtype, "matmul", [&](auto type) {
    using To = decltype(type);
    if constexpr (isReal<To>) {
      result = [](const T* numbers, int64_t count, void* to, int64_t first, int64_t stride,
                  DataType of) {
        for (int64_t i = 0; i < count; ++i) {
          storeNumber(static_cast<To*>(to)[first + i * stride], numbers[i], of);
        }
      };
    }
  });
  check(result != nullptr, "a product's result is real");
  return result;
}

/// Numbers as they would be read again after they were stored.
template <typename T>
using Round = void (*)(T* numbers, int64_t count);
template <typename T>
Round<T> roundOf(DataType dtype) {
  Round<T> result = [](T*, int64_t) {};
  withElementType(dtype, "matmul", [&](auto type) {
    using To = decltype(type);
    if constexpr (isReducedReal<To> && std::is_same_v<T, float>) {
      result = [](T* numbers, int64_t count) {
        To rounded;
        for (int64_t i = 0; i < count; ++i) {
          storeNumber(rounded, numbers[i], kDtypeOf<To>);
          numbers[i] = numberOf(rounded);
        }
      };
    }
  });
  return result;
}

/// What a row of sums becomes: scaled, with its bias, ended.
template <typename T>
class Finish {
 public:
  explicit Finish(const Product& product) : p_(product), round_(roundOf<T>(product.dtype)) {
    if (p_.bias == nullptr) {
      return;
    }
    bias_.resize(static_cast<size_t>(p_.n));
    withElementType(p_.dtype_bias, "matmul", [&](auto type) {
      using From = decltype(type);
      if constexpr (isReal<From>) {
        for (int64_t j = 0; j < p_.n; ++j) {
          bias_[static_cast<size_t>(j)] =
              static_cast<T>(numberOf(static_cast<const From*>(p_.bias)[j * p_.bias_step])) *
              static_cast<T>(p_.beta ? *p_.beta : 1.0f);
        }
      }
    });
  }

  void operator()(T* sums, int64_t row, int64_t column, int64_t count) const {
    const T factor = static_cast<T>(p_.alpha ? *p_.alpha : 1.0f) *
                     (p_.row_scale ? static_cast<T>(p_.row_scale[row * p_.row_scale_step]) : T{1});
    if (factor != T{1}) {
      for (int64_t j = 0; j < count; ++j) {
        sums[j] *= factor;
      }
    }
    for (int64_t j = 0; p_.column_scale != nullptr && j < count; ++j) {
      sums[j] *= static_cast<T>(p_.column_scale[(column + j) * p_.column_scale_step]);
    }
    if (p_.bias_is_epilogue) {
      round_(sums, count);
    }
    for (int64_t j = 0; !bias_.empty() && j < count; ++j) {
      sums[j] += bias_[static_cast<size_t>(column + j)];
    }
    if (p_.end != Epilogue::None && !p_.bias_is_epilogue) {
      round_(sums, count);
    }
    if constexpr (std::is_same_v<T, float>) {
      applyEpilogue(p_.end, sums, count);
    }
  }

 private:
  const Product& p_;
  Round<T> round_;
  std::vector<T> bias_;
};

template <typename T>
class Tiles {
 public:
  Tiles(const Product& product, int64_t tile_rows)
      : p_(product),
        kernel_(gemmKernel<T>()),
        pack_a_(packOf<T>(product.dtype_a)),
        pack_b_(packOf<T>(product.dtype_b)),
        store_(storeOf<T>(product.dtype)),
        rows_(roundUp(std::min(tile_rows, product.m), kernel_.rows)),
        columns_(roundUp(std::min(kTileColumns, product.n), kernel_.columns)),
        tiles_down_((product.m + rows_ - 1) / rows_),
        tiles_across_((product.n + columns_ - 1) / columns_) {}

  int64_t perBatch() const { return tiles_down_ * tiles_across_; }

  /// `a`, `b`, `c`: where the batch begins, in elements.
  void run(int64_t tile, int64_t a, int64_t b, int64_t c, const Finish<T>& finish) const {
    // Neighbours read the same columns of B.
    const int64_t row = tile % tiles_down_ * rows_;
    const int64_t column = tile / tiles_down_ * columns_;
    const int64_t rows = std::min(rows_, p_.m - row);
    const int64_t columns = std::min(columns_, p_.n - column);
    const int64_t depth = std::min(kDepth, std::max<int64_t>(p_.k, 1));
    thread_local std::vector<T> scratch;
    scratch.resize(static_cast<size_t>(rows_ * columns_ + (rows_ + columns_) * depth));
    T* sums = scratch.data();
    T* panel_a = sums + rows_ * columns_;
    T* panel_b = panel_a + rows_ * depth;
    std::fill_n(sums, rows_ * columns_, T{0});
    for (int64_t k = 0; k < p_.k; k += depth) {
      const int64_t now = std::min(depth, p_.k - k);
      pack_a_(p_.a, a + row * p_.a_row + k * p_.a_column, p_.a_row, p_.a_column, rows, now,
              kernel_.rows, panel_a);
      pack_b_(p_.b, b + k * p_.b_row + column * p_.b_column, p_.b_column, p_.b_row, columns, now,
              kernel_.columns, panel_b);
      addProduct(panel_a, panel_b, rows, columns, now, sums, columns_);
    }
    for (int64_t i = 0; i < rows; ++i) {
      finish(sums + i * columns_, row + i, column, columns);
      store_(sums + i * columns_, columns, p_.c, c + (row + i) * p_.c_row + column * p_.c_column,
             p_.c_column, p_.dtype);
    }
  }

 private:
  const Product& p_;
  const GemmKernel<T>& kernel_;
  Pack<T> pack_a_, pack_b_;
  Store<T> store_;
  int64_t rows_, columns_;
  int64_t tiles_down_, tiles_across_;
};

/// Elements from the first one to the first of a batch.
struct BatchOffset {
  int64_t a = 0, b = 0, c = 0;
};
BatchOffset offsetOf(const Product& product, int64_t batch) {
  BatchOffset offset;
  for (size_t i = product.batches.size(); i-- > 0;) {
    const Product::Batch& axis = product.batches[i];
    const int64_t at = batch % axis.size;
    batch /= axis.size;
    offset.a += at * axis.a;
    offset.b += at * axis.b;
    offset.c += at * axis.c;
  }
  return offset;
}

constexpr int64_t kFewRows = 4;
constexpr int64_t kColumnsOfTask = 16;

/// Σ a·b in 16 sums side by side, which are vectors.
template <typename T>
T dot(const T* a, const T* b, int64_t count) {
  constexpr int64_t kSums = 16;
  T sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int64_t lane = 0; lane < kSums; ++lane) {
      sums[lane] += a[i + lane] * b[i + lane];
    }
  }
  for (; i < count; ++i) {
    sums[0] += a[i] * b[i];
  }
  T sum = 0;
  for (const T& one : sums) {
    sum += one;
  }
  return sum;
}

template <typename From, typename T>
void multiplyFewRows(const Product& p, const Finish<T>& finish, const Machine& machine) {
  const int64_t each = (p.n + kColumnsOfTask - 1) / kColumnsOfTask;
  machine.parallel(p.numBatches() * each, [&](int64_t first, int64_t last) {
    thread_local std::vector<T> scratch;
    scratch.resize(static_cast<size_t>((p.m + 1) * p.k));
    T* rows = scratch.data();
    T* converted = rows + p.m * p.k;
    std::array<T, kFewRows * kColumnsOfTask> sums;
    int64_t batch_of_rows = -1;
    for (int64_t task = first; task < last; ++task) {
      const int64_t batch = task / each;
      const BatchOffset offset = offsetOf(p, batch);
      const From* a = static_cast<const From*>(p.a) + offset.a;
      for (int64_t i = 0; batch != batch_of_rows && i < p.m * p.k; ++i) {
        rows[i] = numberOf(a[i / p.k * p.a_row + i % p.k * p.a_column]);
      }
      batch_of_rows = batch;
      From* c = static_cast<From*>(p.c) + offset.c;
      const int64_t begin = task % each * kColumnsOfTask;
      const int64_t count = std::min(kColumnsOfTask, p.n - begin);
      for (int64_t j = begin; j < begin + count; ++j) {
        const From* column = static_cast<const From*>(p.b) + offset.b + j * p.b_column;
        const T* numbers = converted;
        if constexpr (std::is_same_v<From, T>) {
          numbers = column;
        } else {
          toNumbers(column, p.k, converted);
        }
        for (int64_t i = 0; i < p.m; ++i) {
          sums[static_cast<size_t>(i * kColumnsOfTask + j - begin)] =
              dot(rows + i * p.k, numbers, p.k);
        }
      }
      for (int64_t i = 0; i < p.m; ++i) {
        T* own = sums.data() + i * kColumnsOfTask;
        finish(own, i, begin, count);
        for (int64_t j = 0; j < count; ++j) {
          storeNumber(c[i * p.c_row + (begin + j) * p.c_column], own[j], p.dtype);
        }
      }
    }
  });
}

template <typename T>
void multiplyReals(const Product& product, const Machine& machine) {
  const Finish<T> finish(product);
  const bool is_alike = product.dtype_a == product.dtype && product.dtype_b == product.dtype;
  if (product.m <= kFewRows && product.b_row == 1 && product.k > 0 && is_alike) {
    return withElementType(product.dtype, "matmul", [&](auto type) {
      using From = decltype(type);
      if constexpr (isSummedIn<From, T>) {
        multiplyFewRows<From, T>(product, finish, machine);
      }
    });
  }
  // Smaller tiles where there are too few for all threads.
  int64_t tile_rows = kTileRows;
  const int64_t batches = product.numBatches();
  while (tile_rows > 16 && batches * Tiles<T>(product, tile_rows).perBatch() <
                               2 * static_cast<int64_t>(machine.threads)) {
    tile_rows /= 2;
  }
  const Tiles<T> tiles(product, tile_rows);
  const int64_t each = tiles.perBatch();
  machine.parallel(batches * each, [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; ++task) {
      const BatchOffset offset = offsetOf(product, task / each);
      tiles.run(task % each, offset.a, offset.b, offset.c, finish);
    }
  });
}

/// Integers wrap; complex numbers are summed in double.
template <typename From>
struct PlainSum {
  uint64_t sum = 0;
  void add(From a, From b) { sum += static_cast<uint64_t>(a) * static_cast<uint64_t>(b); }
  void add(From x) { sum += static_cast<uint64_t>(x); }
  From get() const { return static_cast<From>(sum); }
};
template <typename Real>
struct PlainSum<std::complex<Real>> {
  double real = 0, imaginary = 0;
  void add(std::complex<Real> x, std::complex<Real> y) {
    const double a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
    real += a * c - b * d;
    imaginary += a * d + b * c;
  }
  void add(std::complex<Real> x) {
    real += static_cast<double>(x.real());
    imaginary += static_cast<double>(x.imag());
  }
  std::complex<Real> get() const { return {static_cast<Real>(real), static_cast<Real>(imaginary)}; }
};

template <typename From>
void multiplyPlainly(const Product& p, const Machine& machine) {
  machine.parallel(p.numBatches() * p.m, [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; ++task) {
      const BatchOffset offset = offsetOf(p, task / p.m);
      const int64_t row = task % p.m;
      const From* a = static_cast<const From*>(p.a) + offset.a + row * p.a_row;
      const From* b = static_cast<const From*>(p.b) + offset.b;
      From* c = static_cast<From*>(p.c) + offset.c + row * p.c_row;
      const auto* bias = static_cast<const From*>(p.bias);
      for (int64_t j = 0; j < p.n; ++j) {
        PlainSum<From> sum;
        for (int64_t k = 0; k < p.k; ++k) {
          sum.add(a[k * p.a_column], b[k * p.b_row + j * p.b_column]);
        }
        if (bias != nullptr) {
          sum.add(bias[j * p.bias_step]);
        }
        c[j * p.c_column] = sum.get();
      }
    }
  });
}

}  // namespace

void multiply(const Product& product, const Machine& machine) {
  if (product.numBatches() * product.m * product.n == 0) {
    return;
  }
  if (isFloatingPointType(product.dtype_a)) {
    return product.dtype_a == DataType::Double ? multiplyReals<double>(product, machine)
                                               : multiplyReals<float>(product, machine);
  }
  withElementType(product.dtype, "matmul", [&](auto type) {
    using T = decltype(type);
    if constexpr (!isReal<T>) {
      multiplyPlainly<T>(product, machine);
    }
  });
}

}  // namespace nvfuser::external
