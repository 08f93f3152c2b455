#include <runtime/warm_time.h>

#include <algorithm>
#include <vector>

namespace nvfuser {

double warmTime(Device& device, const std::function<void()>& work, int repeats) {
  constexpr double kLongEnough = 0.1;  // milliseconds of one measurement
  constexpr int kMostInARow = 1024;
  int in_a_row = 1;
  const std::function<void()> row = [&] {
    for (int i = 0; i < in_a_row; ++i) {
      work();
    }
  };
  device.timeEach(row, 1, nullptr);
  while (in_a_row < kMostInARow && device.timeEach(row, 1, nullptr).front() < kLongEnough) {
    in_a_row *= 4;
  }
  std::vector<double> times = device.timeEach(row, repeats, nullptr);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] / in_a_row;
}

}  // namespace nvfuser
