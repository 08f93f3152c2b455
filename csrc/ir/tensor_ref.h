/// `TensorRef`: where a tensor's elements are, as plain data. It owns nothing and does not say
/// whose memory it is.
#pragma once

#include <cstdint>
#include <vector>

#include <ir/type.h>

namespace nvfuser {

/// Element (i, j, …) is at `data + (i·strides[0] + j·strides[1] + …)·size of one element`. Sizes
/// and strides are those of the logical shape, strides in elements.
struct TensorRef {
  void* data = nullptr;
  DataType dtype;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }

  int64_t numel() const {
    int64_t product = 1;
    for (int64_t size : sizes) {
      product *= size;
    }
    return product;
  }

  /// Row-major without gaps. Strides of axes of extent 1 do not matter; an empty tensor always is.
  bool isContiguous() const {
    if (numel() == 0) {
      return true;
    }
    int64_t expected = 1;
    for (size_t axis = sizes.size(); axis-- > 0;) {
      if (sizes[axis] == 1) {
        continue;
      }
      if (strides[axis] != expected) {
        return false;
      }
      expected *= sizes[axis];
    }
    return true;
  }
};

/// Strides of a row-major tensor of these sizes. Extent 0 counts as 1, as in other frameworks.
inline std::vector<int64_t> rowMajorStrides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= sizes[axis] > 1 ? sizes[axis] : 1;
  }
  return strides;
}

}  // namespace nvfuser
