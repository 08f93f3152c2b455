#include <runtime/cuda/encode_tensor_map.h>

namespace nvfuser::cuda {

namespace {

// CUtensorMapDataType: elements are moved as integers of their size; none of them is converted.
int dataTypeOf(int32_t bytes) { return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 4; }

// CUtensorMapSwizzle
int swizzleOf(int32_t bytes) { return bytes == 32 ? 1 : bytes == 64 ? 2 : bytes == 128 ? 3 : 0; }

constexpr int kNoInterleave = 0;
constexpr int kPromoteTo256Bytes = 3;  // of L2: CU_TENSOR_MAP_L2_PROMOTION_L2_256B
constexpr int kFillZeros = 0;

}  // namespace

bool encodeTensorMap(const Driver& driver, TensorMapArgument& map) {
  if (driver.TensorMapEncodeTiled == nullptr) {
    return false;
  }
  uint64_t sizes[kMaxBoxRank];
  uint64_t strides[kMaxBoxRank];
  uint32_t box[kMaxBoxRank];
  uint32_t steps[kMaxBoxRank];
  for (int32_t axis = 0; axis < map.rank; ++axis) {
    sizes[axis] = static_cast<uint64_t>(map.sizes[axis]);
    box[axis] = static_cast<uint32_t>(map.box[axis]);
    steps[axis] = 1;
    if (axis > 0) {
      strides[axis - 1] = static_cast<uint64_t>(map.strides[axis]);
    }
  }
  return driver.TensorMapEncodeTiled(
             map.descriptor, dataTypeOf(map.element_bytes), static_cast<unsigned>(map.rank),
             reinterpret_cast<void*>(map.address), sizes, strides, box, steps, kNoInterleave,
             swizzleOf(map.swizzle), kPromoteTo256Bytes, kFillZeros) == kSuccess;
}

}  // namespace nvfuser::cuda
