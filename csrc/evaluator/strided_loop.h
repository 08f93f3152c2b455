/// One loop over the index space of several strided tensors: axes that all of them walk alike are
/// joined, and the body gets runs along the innermost axis, so that it is a plain loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nvfuser {

/// Calls `body(length, starts, steps)` for each run: element i of the run is at `starts[n] +
/// i·steps[n]` in the n-th tensor. Runs come in row-major order; a 0-dim space is one run of length
/// 1, an empty one none.
template <size_t N, typename Body>
void forEachRun(const std::vector<int64_t>& sizes,
                const std::array<std::vector<int64_t>, N>& strides,
                const std::array<int64_t, N>& offsets, const Body& body) {
  struct Axis {
    int64_t size;
    std::array<int64_t, N> strides;
  };
  std::vector<Axis> axes;  // outermost first, no extent 1, neighbours joined
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 0) {
      return;
    }
    if (sizes[axis] == 1) {
      continue;
    }
    Axis next{sizes[axis], {}};
    bool joins = !axes.empty();
    for (size_t n = 0; n < N; ++n) {
      next.strides[n] = strides[n][axis];
      joins = joins && axes.back().strides[n] == next.strides[n] * next.size;
    }
    if (joins) {
      next.size *= axes.back().size;
      axes.back() = next;
    } else {
      axes.push_back(next);
    }
  }
  if (axes.empty()) {
    axes.push_back({1, {}});
  }
  const Axis inner = axes.back();
  axes.pop_back();
  std::array<int64_t, N> starts = offsets;
  std::vector<int64_t> index(axes.size(), 0);
  while (true) {
    body(inner.size, starts, inner.strides);
    size_t axis = axes.size();
    while (axis > 0) {
      --axis;
      const Axis& outer = axes[axis];
      if (++index[axis] < outer.size) {
        for (size_t n = 0; n < N; ++n) {
          starts[n] += outer.strides[n];
        }
        break;
      }
      index[axis] = 0;
      for (size_t n = 0; n < N; ++n) {
        starts[n] -= outer.strides[n] * (outer.size - 1);
      }
      if (axis == 0) {
        return;
      }
    }
    if (axes.empty()) {
      return;
    }
  }
}

}  // namespace nvfuser
