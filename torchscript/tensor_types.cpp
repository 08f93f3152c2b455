#include "tensor_types.h"

#include <algorithm>
#include <numeric>

#include <capi/nvfuser_c.h>

namespace nvfuser::torchscript {

namespace {

constexpr std::pair<c10::ScalarType, int32_t> kDtypes[] = {
    {c10::ScalarType::Float, NVF_FLOAT},
    {c10::ScalarType::BFloat16, NVF_BFLOAT16},
    {c10::ScalarType::Half, NVF_HALF},
    {c10::ScalarType::Double, NVF_DOUBLE},
    {c10::ScalarType::Long, NVF_INT},
    {c10::ScalarType::Bool, NVF_BOOL},
    {c10::ScalarType::Int, NVF_INT32},
    {c10::ScalarType::Float8_e4m3fn, NVF_FLOAT8_E4M3FN},
    {c10::ScalarType::Float8_e5m2, NVF_FLOAT8_E5M2},
    {c10::ScalarType::Char, NVF_CHAR},
    {c10::ScalarType::Short, NVF_SHORT},
    {c10::ScalarType::Byte, NVF_BYTE},
    {c10::ScalarType::ComplexFloat, NVF_COMPLEX_FLOAT},
    {c10::ScalarType::ComplexDouble, NVF_COMPLEX_DOUBLE},
};

constexpr int64_t kMostAxes = 24;  ///< two bits each, beside rank and dtype, make a word

}  // namespace

int32_t dtypeOf(c10::ScalarType type) {
  for (const auto& [scalar, dtype] : kDtypes) {
    if (scalar == type) {
      return dtype;
    }
  }
  return NVF_NULL;
}

std::optional<c10::ScalarType> scalarTypeOf(int32_t dtype) {
  for (const auto& [scalar, number] : kDtypes) {
    if (number == dtype) {
      return scalar;
    }
  }
  return std::nullopt;
}

uint64_t traitsOf(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != c10::kStrided || tensor.dim() > kMostAxes) {
    return 0;
  }
  const c10::IntArrayRef sizes = tensor.sizes();
  const c10::IntArrayRef strides = tensor.strides();
  uint64_t ones = 0;
  uint64_t contiguous = 0;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) {
      ones |= uint64_t{1} << i;
      continue;
    }
    contiguous |= static_cast<uint64_t>(strides[i] == expected) << i;
    expected = strides[i] * sizes[i];
  }
  // The last bit makes that a tensor's word is never 0.
  return contiguous << 39 | ones << 15 | static_cast<uint64_t>(sizes.size()) << 9 |
         static_cast<uint64_t>(tensor.scalar_type()) << 1 | 1;
}

uint64_t shapeTraits(uint64_t traits) { return traits & ((uint64_t{1} << 39) - 1); }

std::optional<Profile> profileOf(const c10::TensorType& type) {
  const std::optional<c10::ScalarType> scalar = type.scalarType();
  const std::optional<size_t> rank = type.dim();
  if (!scalar || !rank) {
    return std::nullopt;
  }
  Profile profile{dtypeOf(*scalar), {}, {}, true};
  for (size_t axis = 0; axis < *rank; ++axis) {
    const std::optional<int64_t> size = type.sizes()[axis];
    profile.has_sizes = profile.has_sizes && size.has_value();
    profile.sizes.push_back(size.value_or(2));
  }
  if (std::optional<std::vector<int64_t>> strides = type.strides().concrete_sizes();
      strides && strides->size() == *rank) {
    profile.strides = *strides;
  } else {
    profile.strides.resize(*rank);
    int64_t stride = 1;
    for (size_t axis = *rank; axis-- > 0;) {
      profile.strides[axis] = stride;
      stride *= std::max<int64_t>(profile.sizes[axis], 1);
    }
  }
  return profile;
}

std::vector<int64_t> memoryOrder(const std::vector<int64_t>& sizes,
                                 const std::vector<int64_t>& strides) {
  std::vector<size_t> places;  // of axes that have a say
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] != 1) {
      places.push_back(axis);
    }
  }
  std::vector<size_t> sorted = places;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  std::vector<int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = 0; i < places.size(); ++i) {
    order[places[i]] = static_cast<int64_t>(sorted[i]);
  }
  return order;
}

}  // namespace nvfuser::torchscript
