#include <scheduler/analysis/cache_lines.h>

#include <algorithm>

namespace nvfuser {

namespace {

constexpr int64_t kLineBytes = 128;
/// What the caches of all multiprocessors of an H100 hand out while its memory hands out a byte:
/// 132 lines a clock of 1.7 GHz, beside 3 TB/s; less what stores and other work take.
constexpr double kCacheBytes = 8;

/// Bytes of lines that are touched for each element, if a thread has `elements` side by side.
double touched(const LineAccess& access, int64_t step, int64_t elements) {
  const int64_t size = SchedulerRuntimeInfo::elementBytes(access.tensor);
  if (access.width == 0) {
    return 0;
  }
  const int64_t apart = elements <= access.width
                            ? std::max<int64_t>(step, 1) * size
                            : elements / access.width * std::max<int64_t>(step, 1) * size;
  return static_cast<double>(access.times * std::min(apart, kLineBytes));
}

}  // namespace

int64_t elementsOfLines(std::span<const LineAccess> accesses, const ReferenceAxes& axes,
                        const std::vector<int64_t>& inner, double moved, int64_t elements,
                        SchedulerRuntimeInfo& info) {
  const auto all = [&](int64_t count) {
    double bytes = 0;
    for (const LineAccess& access : accesses) {
      bytes += touched(access, axes.step(access.tensor, inner, info), count);
    }
    return bytes;
  };
  while (elements > 1 && all(elements) > kCacheBytes * moved && all(elements / 2) < all(elements)) {
    elements /= 2;
  }
  return elements;
}

}  // namespace nvfuser
