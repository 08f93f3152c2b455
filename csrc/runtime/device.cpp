#include <runtime/device.h>

#include <chrono>

namespace nvfuser {

std::vector<double> Device::timeEach(const std::function<void()>& work, int repeats,
                                     Stream stream) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const Clock::time_point begin = Clock::now();
    work();
    synchronize(stream);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  return times;
}

}  // namespace nvfuser
