/// How the demo measures: a copy on the device as the yardstick, and medians of runs taken in
/// turns.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include <runtime/tensor.h>

namespace demo {

/// Two buffers of one device, and the time of copying one to the other with the device's own copy.
class CopyBuffers {
 public:
  CopyBuffers(nvfuser::Device& device, int64_t bytes)
      : device_(device),
        from_(nvfuser::Tensor::zeros({bytes}, nvfuser::DataType::Byte, device)),
        to_(nvfuser::Tensor::zeros({bytes}, nvfuser::DataType::Byte, device)) {}

  /// Milliseconds of one copy. Several go out before the host waits, so that its waiting is spread.
  double time() {
    const int copies = device_.kind() == nvfuser::DeviceKind::Cuda ? 10 : 1;
    device_.synchronize(nullptr);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < copies; ++i) {
      device_.copyWithin(to_.data(), from_.data(), static_cast<size_t>(from_.numel()), nullptr);
    }
    device_.synchronize(nullptr);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    return took.count() / copies;
  }

 private:
  nvfuser::Device& device_;
  nvfuser::Tensor from_;
  nvfuser::Tensor to_;
};

/// Each of `runs` gives milliseconds. They take turns, so that whatever else the machine does slows
/// all of them alike; the first round warms up.
inline std::vector<double> medians(const std::vector<std::function<double()>>& runs, int rounds) {
  std::vector<std::vector<double>> times(runs.size());
  for (int round = 0; round <= rounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      const double ms = runs[i]();
      if (round > 0) {
        times[i].push_back(ms);
      }
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& of_one : times) {
    const auto middle = of_one.begin() + static_cast<std::ptrdiff_t>(of_one.size() / 2);
    std::nth_element(of_one.begin(), middle, of_one.end());
    medians.push_back(*middle);
  }
  return medians;
}

}  // namespace demo
