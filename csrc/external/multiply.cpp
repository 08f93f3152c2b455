// Products of matrices on the host.
//
// Notation: C is m × n, summed over k. A task computes one tile of C, kTileRows × kTileColumns at
// most, in a buffer of its own, in Float (Double for Double):
//
//   for each block of kDepth of k:  B's part → panels [k][columns of a register block]
//                                   A's part → panels [k][rows of a register block]
//     for each pair of panels:      a register block of the tile += A panel · B panel
//   tile + bias → C, rounded once
//
// One row, or a few, times a weight whose rows lie side by side reads the weight once as it is
// (multiplyFewRows). Panels are filled up with zeros, so that register blocks are whole. Every
// element is summed in the same order for any number of threads. Integers and complex numbers take
// plain loops.
#include <algorithm>
#include <array>
#include <vector>

#include <external/elements.h>
#include <external/gemm_kernel.h>
#include <external/product.h>

namespace nvfuser::external {

namespace {

constexpr int64_t kTileRows = 96;
constexpr int64_t kTileColumns = 256;
constexpr int64_t kDepth = 256;

int64_t roundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

template <typename From, typename T>
void toNumbers(const From* from, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = numberOf(from[i]);
  }
}

/// `count` lines of `depth` elements each as panels of `width` lines: panel[p][line].
template <typename From, typename T>
void pack(const From* from, int64_t line_stride, int64_t depth_stride, int64_t count, int64_t depth,
          int64_t width, T* to) {
  std::array<T, kDepth> line_numbers;
  for (int64_t first = 0; first < count; first += width, to += width * depth) {
    const int64_t lines = std::min(width, count - first);
    const From* own = from + first * line_stride;
    if (lines < width) {
      std::fill_n(to, width * depth, T{0});
    }
    if (line_stride == 1) {
      for (int64_t p = 0; p < depth; ++p) {
        for (int64_t line = 0; line < lines; ++line) {
          to[p * width + line] = numberOf(own[p * depth_stride + line]);
        }
      }
    } else if (depth_stride == 1) {
      for (int64_t line = 0; line < lines; ++line) {
        toNumbers(own + line * line_stride, depth, line_numbers.data());
        for (int64_t p = 0; p < depth; ++p) {
          to[p * width + line] = line_numbers[static_cast<size_t>(p)];
        }
      }
    } else {
      for (int64_t line = 0; line < lines; ++line) {
        for (int64_t p = 0; p < depth; ++p) {
          to[p * width + line] = numberOf(own[line * line_stride + p * depth_stride]);
        }
      }
    }
  }
}

template <typename From, typename T>
class Tiles {
 public:
  Tiles(const Product& product, int64_t tile_rows)
      : p_(product),
        kernel_(gemmKernel<T>()),
        rows_(roundUp(std::min(tile_rows, product.m), kernel_.rows)),
        columns_(roundUp(std::min(kTileColumns, product.n), kernel_.columns)),
        tiles_down_((product.m + rows_ - 1) / rows_),
        tiles_across_((product.n + columns_ - 1) / columns_) {}

  int64_t perBatch() const { return tiles_down_ * tiles_across_; }

  void run(int64_t tile, const From* a, const From* b, From* c) const {
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
      pack(a + row * p_.a_row + k * p_.a_column, p_.a_row, p_.a_column, rows, now, kernel_.rows,
           panel_a);
      pack(b + k * p_.b_row + column * p_.b_column, p_.b_column, p_.b_row, columns, now,
           kernel_.columns, panel_b);
      for (int64_t j = 0; j < columns; j += kernel_.columns) {
        for (int64_t i = 0; i < rows; i += kernel_.rows) {
          kernel_.run(panel_a + i * now, panel_b + j * now, now, sums + i * columns_ + j, columns_);
        }
      }
    }
    const auto* bias = static_cast<const From*>(p_.bias);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        T value = sums[i * columns_ + j];
        if (bias != nullptr) {
          value += numberOf(bias[(column + j) * p_.bias_step]);
        }
        storeNumber(c[(row + i) * p_.c_row + (column + j) * p_.c_column], value, p_.dtype);
      }
    }
  }

 private:
  const Product& p_;
  const GemmKernel<T>& kernel_;
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
void multiplyFewRows(const Product& p, const Machine& machine) {
  const int64_t each = (p.n + kColumnsOfTask - 1) / kColumnsOfTask;
  machine.parallel(p.numBatches() * each, [&](int64_t first, int64_t last) {
    thread_local std::vector<T> scratch;
    scratch.resize(static_cast<size_t>((p.m + 1) * p.k));
    T* rows = scratch.data();
    T* converted = rows + p.m * p.k;
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
      const auto* bias = static_cast<const From*>(p.bias);
      const int64_t begin = task % each * kColumnsOfTask;
      for (int64_t j = begin; j < std::min(begin + kColumnsOfTask, p.n); ++j) {
        const From* column = static_cast<const From*>(p.b) + offset.b + j * p.b_column;
        const T* numbers = converted;
        if constexpr (std::is_same_v<From, T>) {
          numbers = column;
        } else {
          toNumbers(column, p.k, converted);
        }
        for (int64_t i = 0; i < p.m; ++i) {
          T value = dot(rows + i * p.k, numbers, p.k);
          if (bias != nullptr) {
            value += numberOf(bias[j * p.bias_step]);
          }
          storeNumber(c[i * p.c_row + j * p.c_column], value, p.dtype);
        }
      }
    }
  });
}

template <typename From, typename T>
void multiplyReals(const Product& product, const Machine& machine) {
  if (product.m <= kFewRows && product.b_row == 1 && product.k > 0) {
    return multiplyFewRows<From, T>(product, machine);
  }
  // Smaller tiles where there are too few for all threads.
  int64_t tile_rows = kTileRows;
  const int64_t batches = product.numBatches();
  while (tile_rows > 16 && batches * Tiles<From, T>(product, tile_rows).perBatch() <
                               2 * static_cast<int64_t>(machine.threads)) {
    tile_rows /= 2;
  }
  const Tiles<From, T> tiles(product, tile_rows);
  const int64_t each = tiles.perBatch();
  machine.parallel(batches * each, [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; ++task) {
      const BatchOffset offset = offsetOf(product, task / each);
      tiles.run(task % each, static_cast<const From*>(product.a) + offset.a,
                static_cast<const From*>(product.b) + offset.b,
                static_cast<From*>(product.c) + offset.c);
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
  withElementType(product.dtype, "matmul", [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, double>) {
      multiplyReals<double, double>(product, machine);
    } else if constexpr (isReal<T>) {
      multiplyReals<T, float>(product, machine);
    } else {
      multiplyPlainly<T>(product, machine);
    }
  });
}

}  // namespace nvfuser::external
