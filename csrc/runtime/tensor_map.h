/// What a kernel is given to copy boxes of a tensor: the driver's descriptor, and what it was made
/// of. Beside the descriptor, `runtime/tensor_map.cuh` has the same layout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nvfuser {

inline constexpr size_t kMaxBoxRank = 5;

struct alignas(64) TensorMapArgument {
  uint64_t descriptor[16] = {};  ///< CUtensorMap
  uint64_t address = 0;
  int64_t strides[kMaxBoxRank] = {};  ///< bytes; innermost axis first, as all below
  int64_t sizes[kMaxBoxRank] = {};
  int32_t box[kMaxBoxRank] = {};
  int32_t rank = 0;
  int32_t element_bytes = 0;
  int32_t swizzle = 0;  ///< bytes of a line whose 16 bytes change places; 0: none do
  int32_t fits = 0;     ///< whether the engine takes the tensor; if not, threads copy
};
static_assert(sizeof(TensorMapArgument) == 256);

/// Whether the engine takes a tensor at this address with these strides and sizes.
bool fitsEngine(const TensorMapArgument& map);

/// Where the engine puts a byte of a box, counted from a multiple of 1024 bytes.
inline uint64_t swizzled(uint64_t offset, int32_t swizzle) {
  const uint64_t lines = static_cast<uint64_t>(swizzle) / 16;  // that trade places: 2, 4, 8
  return swizzle == 0 ? offset : offset ^ ((offset >> 7 & (lines - 1)) << 4);
}

}  // namespace nvfuser
