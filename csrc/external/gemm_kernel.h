/// The innermost loops of products of matrices, for this processor.
#pragma once

#include <cstdint>

namespace nvfuser::external {

/// Adds to the rows × columns block of `c` (row by row, `stride` apart) the product of a column
/// panel a[k][rows] and a row panel b[k][columns].
template <typename T>
struct GemmKernel {
  int64_t rows;
  int64_t columns;
  void (*run)(const T* a, const T* b, int64_t k, T* c, int64_t stride);
};

/// The one for the widest vectors that the processor has; chosen once.
template <typename T>
const GemmKernel<T>& gemmKernel();

}  // namespace nvfuser::external
