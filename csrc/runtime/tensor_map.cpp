#include <runtime/tensor_map.h>

namespace nvfuser {

namespace {

constexpr uint64_t kUnit = 16;                     ///< bytes, of an address and of strides
constexpr int64_t kMostElements = INT32_MAX;       ///< along an axis: coordinates are int
constexpr int64_t kMostStride = int64_t{1} << 40;  ///< bytes

}  // namespace

bool fitsEngine(const TensorMapArgument& map) {
  if (map.address == 0 || map.address % kUnit != 0) {
    return false;
  }
  for (int32_t axis = 0; axis < map.rank; ++axis) {
    const int64_t size = map.sizes[axis];
    const int64_t stride = map.strides[axis];
    if (size < 1 || size > kMostElements) {
      return false;
    }
    if (axis > 0 &&
        (stride <= 0 || stride % static_cast<int64_t>(kUnit) != 0 || stride >= kMostStride)) {
      return false;
    }
  }
  return true;
}

}  // namespace nvfuser
