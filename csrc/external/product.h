/// A product of matrices as every library sees it: batches of C = f(A · B), all by strides, where f
/// scales rows and columns, adds a bias and ends with a function of each number.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <external/external_call.h>

namespace nvfuser::external {

struct Product {
  int64_t m = 1, n = 1, k = 1;  ///< C is m × n, A is m × k
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;  ///< one number a column; null: none
  void* c = nullptr;
  DataType dtype = {};  ///< of C
  DataType dtype_a = {}, dtype_b = {};
  DataType dtype_bias = {};
  // In elements.
  int64_t a_row = 0, a_column = 0;  ///< row: from one row to the next
  int64_t b_row = 0, b_column = 0;
  int64_t c_row = 0, c_column = 0;
  int64_t bias_step = 0;
  struct Batch {
    int64_t size;
    int64_t a, b, c;  ///< strides
  };
  std::vector<Batch> batches;  ///< outermost first; none for a single product

  // In Float: C = end(alpha · row_scale · column_scale · (A · B) + beta · bias).
  const float* row_scale = nullptr;  ///< null: 1
  const float* column_scale = nullptr;
  int64_t row_scale_step = 0, column_scale_step = 0;
  const float *alpha = nullptr, *beta = nullptr;  ///< one number; null: 1
  Epilogue end = Epilogue::None;
  /// The bias and `end` are operations after the product: it is rounded to `dtype` before the first
  /// of them, as it would be if it were stored. An own bias belongs to the product.
  bool bias_is_epilogue = false;

  int64_t numBatches() const;
  /// Whether C, A, B and the bias have one dtype and nothing is scaled.
  bool isPlain() const;
};

/// Products of groups that follow each other along an axis: 'M' (rows of C), 'N' (its columns) or
/// 'K' (what is summed over).
struct GroupedProduct {
  Product all;  ///< of the first group's matrices, along the whole axis
  char axis = 'M';
  int64_t groups = 0;
  const int32_t* ends = nullptr;  ///< where each group ends; the first one begins at 0
  int64_t ends_step = 0;
  /// From one group to the next.
  int64_t a = 0, b = 0, c = 0, row_scale = 0, column_scale = 0, alpha = 0, bias = 0, beta = 0;

  Product of(int64_t group, int64_t begin, int64_t end) const;
};

/// Of a `ScaledMmaOp`, and of a `GroupedMmaOp`. No element is read.
Product scaledProductOf(const Call& call);
GroupedProduct groupedProductOf(const Call& call);

/// Of a `MatmulOp` or a `LinearOp`. Batches that are just more rows of A are made rows. Throws
/// `UserError` where the lengths that are summed over differ.
Product productOf(const Call& call);

/// In memory of the host.
void multiply(const Product& product, const Machine& machine);
void runScaledProduct(const Call& call);
void runGroupedProduct(const Call& call);

}  // namespace nvfuser::external
