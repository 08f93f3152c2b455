/// Lines of tensors along one axis: what scans, sorting and scatters work on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <external/external_call.h>

namespace nvfuser::external {

/// The lines along `dim` of `N` tensors whose other sizes are `sizes`' (those of the first one); a
/// 0-dim tensor is one line of one element.
template <size_t N>
class Lanes {
 public:
  Lanes(const std::array<const TensorRef*, N>& tensors, const std::vector<int64_t>& sizes,
        int64_t dim) {
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      if (static_cast<int64_t>(axis) == dim) {
        continue;
      }
      Axis next{sizes[axis], {}};
      for (size_t n = 0; n < N; ++n) {
        next.strides[n] = tensors[n]->strides[axis];
      }
      count_ *= next.size;
      axes_.push_back(next);
    }
    for (size_t n = 0; n < N; ++n) {
      const bool is_element = sizes.empty();
      lengths_[n] = is_element ? 1 : tensors[n]->sizes[static_cast<size_t>(dim)];
      steps_[n] = is_element ? 1 : tensors[n]->strides[static_cast<size_t>(dim)];
    }
  }

  int64_t count() const { return count_; }
  int64_t length(size_t n) const { return lengths_[n]; }
  int64_t step(size_t n) const { return steps_[n]; }

  /// Where line `i` begins in each tensor, in elements.
  std::array<int64_t, N> starts(int64_t i) const {
    std::array<int64_t, N> starts{};
    for (size_t axis = axes_.size(); axis-- > 0;) {
      const int64_t at = i % axes_[axis].size;
      i /= axes_[axis].size;
      for (size_t n = 0; n < N; ++n) {
        starts[n] += at * axes_[axis].strides[n];
      }
    }
    return starts;
  }

 private:
  struct Axis {
    int64_t size;
    std::array<int64_t, N> strides;
  };
  std::vector<Axis> axes_;
  int64_t count_ = 1;
  std::array<int64_t, N> lengths_{};
  std::array<int64_t, N> steps_{};
};

// In memory of the host.
void runScan(const Call& call);
void runArgsort(const Call& call);
void runTopK(const Call& call);
void runScatter(const Call& call);

}  // namespace nvfuser::external
