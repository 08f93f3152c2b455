/// How many elements sizes and strides mean. Internal to `tensor*.cpp`.
#pragma once

#include <cstdint>
#include <vector>

namespace nvfuser {

/// The product of the sizes; 1 for none.
inline int64_t elementCount(const std::vector<int64_t>& sizes) {
  int64_t all = 1;
  for (int64_t size : sizes) {
    all *= size;
  }
  return all;
}

/// Number of elements from the first to the last one in memory; strides are not negative.
inline int64_t elementSpan(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 0) {
      return 0;
    }
    last += (sizes[axis] - 1) * strides[axis];
  }
  return last + 1;
}

}  // namespace nvfuser
