/// PyTorch's tensors and profiled types, as ours: dtypes, and what a kernel takes for granted of a
/// tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

namespace nvfuser::torchscript {

/// NVF_NULL where we have none.
int32_t dtypeOf(c10::ScalarType type);
/// And back; none for what PyTorch does not have.
std::optional<c10::ScalarType> scalarTypeOf(int32_t dtype);

/// Rank, dtype, which axes have extent 1, and which are contiguous with the one to their right: one
/// word, equal for tensors that one definition serves. 0: not a tensor that we take.
uint64_t traitsOf(const at::Tensor& tensor);
/// Without contiguity.
uint64_t shapeTraits(uint64_t traits);

/// What was profiled, completed: unknown sizes count as 2, unknown strides as row-major.
struct Profile {
  int32_t dtype;
  std::vector<int64_t> sizes, strides;
  bool has_sizes;  ///< all of them
};
/// None where dtype or rank are unknown.
std::optional<Profile> profileOf(const c10::TensorType& type);

/// Axes from the outermost to the innermost in memory; axes of extent 1 where they stand.
std::vector<int64_t> memoryOrder(const std::vector<int64_t>& sizes,
                                 const std::vector<int64_t>& strides);

}  // namespace nvfuser::torchscript
