/// Which tensors a launch has, and how they lie in memory.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <runtime/launch_values.h>

namespace nvfuser {

/// Where `val` stands in a list; the list's size where it does not.
inline size_t positionOf(const std::vector<Val*>& list, const Val* val) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), val) - list.begin());
}

/// Sizes and strides of an output: dense in the order of its allocation domain; expanded axes have
/// stride 0.
std::pair<std::vector<int64_t>, std::vector<int64_t>> outputLayout(const TensorView* tv,
                                                                   LaunchValues& values);
/// The first element in memory and the last one + 1, counted from the tensor's address.
std::pair<int64_t, int64_t> placesOf(std::span<const int64_t> sizes,
                                     std::span<const int64_t> strides);

}  // namespace nvfuser
