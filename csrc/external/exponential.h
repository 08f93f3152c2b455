/// Rows of scores, for this processor: in Float, without a call for each number.
#pragma once

#include <cstdint>

namespace nvfuser::external {

struct RowFunctions {
  /// The greatest of `count` numbers, at least -inf; NaN is left out.
  float (*greatest)(const float* row, int64_t count);
  /// Each x becomes exp(x − shift), to about a unit in the last place; 0 below 2^-126. Gives the
  /// sum, in an order that depends on `count` alone.
  float (*exponentials)(float* row, int64_t count, float shift);
};

/// For the widest vectors that the processor has; chosen once.
const RowFunctions& rowFunctions();

}  // namespace nvfuser::external
