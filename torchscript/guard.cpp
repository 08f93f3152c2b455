#include "guard.h"

#include "knobs.h"
#include "tensor_types.h"
#include <ATen/core/grad_mode.h>

namespace nvfuser::torchscript {

namespace {

/// What is expected of one tensor.
struct Expected {
  /// 0: nothing was profiled, and nothing fits.
  uint64_t traits = 0;         ///< with contiguity if it was profiled in row-major order
  std::vector<int64_t> order;  ///< of its axes in memory; empty: row-major
  uint64_t contiguous = 0;     ///< by axis, each with the next one in that order
  bool knows_sizes = true;
  c10::Device device = c10::kCPU;
  bool requires_grad = false;
};

uint64_t contiguousIn(const std::vector<int64_t>& order, c10::IntArrayRef sizes,
                      c10::IntArrayRef strides) {
  uint64_t contiguous = 0;
  int64_t expected = 1;
  for (size_t place = order.size(); place-- > 0;) {
    const auto axis = static_cast<size_t>(order[place]);
    if (sizes[axis] != 1) {
      contiguous |= static_cast<uint64_t>(strides[axis] == expected) << axis;
      expected = strides[axis] * sizes[axis];
    }
  }
  return contiguous;
}

/// The word that traitsOf gives to a tensor of these sizes and strides.
uint64_t expectedTraits(const c10::TensorType& type, const Profile& profile) {
  const at::Tensor like =
      at::detail::empty_strided_meta(profile.sizes, profile.strides, *type.scalarType());
  return traitsOf(like);
}

Expected expectedOf(const c10::TensorType& type) {
  const std::optional<Profile> profile = profileOf(type);
  Expected expected;
  if (!profile || !type.device()) {
    return expected;
  }
  expected.device = *type.device();
  expected.requires_grad = type.requiresGrad().value_or(false);
  expected.knows_sizes = profile->has_sizes;
  expected.traits = expectedTraits(type, *profile);
  const std::vector<int64_t> order = memoryOrder(profile->sizes, profile->strides);
  if (!std::is_sorted(order.begin(), order.end())) {
    expected.order = order;
    expected.contiguous = contiguousIn(order, profile->sizes, profile->strides);
    expected.traits = shapeTraits(expected.traits);
  }
  return expected;
}

bool ordered(const std::vector<int64_t>& order, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  int64_t outer = -1;  // the stride of the axis before
  for (int64_t axis : order) {
    const auto at = static_cast<size_t>(axis);
    if (sizes[at] == 1) {
      continue;
    }
    if (outer >= 0 && strides[at] > outer) {
      return false;
    }
    outer = strides[at];
  }
  return true;
}

/// Of forward-mode differentiation, which kernels do not carry on.
bool hasTangent(const at::Tensor& tensor) { return tensor._fw_grad(0).defined(); }

bool fits(const Expected& expected, const at::Tensor& tensor) {
  const uint64_t traits = traitsOf(tensor);
  if (traits == 0 || hasTangent(tensor) || expected.traits == 0 ||
      tensor.device() != expected.device ||
      (tensor.requires_grad() && at::GradMode::is_enabled()) != expected.requires_grad) {
    return false;
  }
  if (!expected.knows_sizes) {  // profiled with several: dtype and rank are what is known
    constexpr uint64_t kRankAndType = (uint64_t{1} << 15) - 1;
    return (traits & kRankAndType) == (expected.traits & kRankAndType);
  }
  if (expected.order.empty()) {
    return traits == expected.traits;
  }
  return shapeTraits(traits) == expected.traits &&
         ordered(expected.order, tensor.sizes(), tensor.strides()) &&
         contiguousIn(expected.order, tensor.sizes(), tensor.strides()) == expected.contiguous;
}

}  // namespace

torch::jit::Operation makeGuard(const torch::jit::Node* node) {
  std::vector<Expected> expected;
  for (const c10::TypePtr& type : node->tys(torch::jit::attr::types)) {
    expected.push_back(expectedOf(type->expectRef<c10::TensorType>()));
  }
  return [expected = std::move(expected)](torch::jit::Stack& stack) {
    const size_t count = expected.size();
    bool all_fit = true;
    if (knobs().guard) {
      const c10::ArrayRef<c10::IValue> inputs = torch::jit::last(stack, count);
      for (size_t i = 0; all_fit && i < count; ++i) {
        all_fit = inputs[i].isTensor() && fits(expected[i], inputs[i].toTensor());
      }
    }
    torch::jit::drop(stack, count);
    stack.emplace_back(all_fit);
  };
}

}  // namespace nvfuser::torchscript
