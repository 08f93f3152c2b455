#include <scheduler/analysis/sectors.h>

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

Sectors sectorsOf(const ReferenceAxes& axes, const TensorView* tv,
                  const std::vector<int64_t>& order, int64_t rows, int64_t columns,
                  SchedulerRuntimeInfo& info) {
  const int64_t size = SchedulerRuntimeInfo::elementBytes(tv);
  const std::vector<int64_t> strides = axes.strides(tv, info);
  const auto extent = [&](int64_t axis) {
    return std::max<int64_t>(info.extent(axes.axes()[static_cast<size_t>(axis)]), 1);
  };
  const int64_t row = order.empty() ? 1 : extent(order.back());
  std::unordered_set<int64_t> places;
  std::unordered_set<int64_t> sectors;
  for (int64_t n = 0; n < rows * columns; ++n) {
    int64_t left = n / columns * row + n % columns;
    int64_t place = 0;
    for (auto axis = order.rbegin(); axis != order.rend() && left > 0; ++axis) {
      place += left % extent(*axis) * strides[static_cast<size_t>(*axis)];
      left /= extent(*axis);
    }
    places.insert(place);
    sectors.insert(place * size / kSectorBytes);
  }
  return {static_cast<int64_t>(sectors.size()), static_cast<int64_t>(places.size())};
}

}  // namespace nvfuser
