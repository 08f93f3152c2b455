/// A product of matrices as every library sees it: batches of C = A · B (+ bias), all by strides.
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
  DataType dtype = {};  ///< of all
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

  int64_t numBatches() const;
};

/// Of a `MatmulOp` or a `LinearOp`. Batches that are just more rows of A are made rows. Throws
/// `UserError` where the lengths that are summed over differ.
Product productOf(const Call& call);

/// In memory of the host.
void multiply(const Product& product, const Machine& machine);

}  // namespace nvfuser::external
