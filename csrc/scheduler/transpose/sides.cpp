#include <scheduler/transpose/sides.h>

#include <algorithm>
#include <map>

#include <scheduler/analysis/windows.h>

namespace nvfuser::transpose {

namespace {

constexpr int64_t kSector = 32;       ///< bytes that a GPU moves at least
constexpr int64_t kLine = 64;         ///< the same of a CPU
constexpr int64_t kEnough = 512;      ///< elements of a side that need no further axis
constexpr int64_t kLeastSide = 8;     ///< elements of a side that are worth a tile
constexpr int64_t kLargeTile = 1024;  ///< elements of both sides
constexpr double kGain = 1.3;         ///< by which lines moved must exceed bytes
/// Less lies in a CPU's first cache, where reading across rows costs nothing.
constexpr double kLeastOnHost = 8192;

class Search {
 public:
  Search(const ReferenceAxes& reference, const std::vector<TensorView*>& tensors,
         SchedulerRuntimeInfo& info)
      : reference_(reference), tensors_(tensors), info_(info) {}

  std::variant<Sides, Refusal> run() {
    std::map<int64_t, double> bytes_along;
    for (const TensorView* tv : tensors_) {
      const int64_t axis = innermost(tv);
      if (axis >= 0) {
        bytes_along[axis] += bytesOf(tv);
      }
    }
    if (bytes_along.size() < 2) {
      return Refusal{
          bytes_along.empty()
              ? std::string("no tensor has more than one element")
              : text("all tensors lie in memory along one axis, ",
                     reference_.axes()[static_cast<size_t>(bytes_along.begin()->first)])};
    }
    const int64_t first = most(bytes_along);
    bytes_along.erase(first);
    const int64_t second = most(bytes_along);
    const double along_first = turnedBytes(first, second);   // computed along the second
    const double along_second = turnedBytes(second, first);  // computed along the first
    if (along_first == 0 || along_second == 0) {
      return Refusal{text("no two tensors that have both ", axisOf(first), " and ", axisOf(second),
                          " lie in memory along different ones")};
    }
    const bool keep = along_second <= along_first;
    Sides sides;
    const int64_t compute = keep ? first : second;
    const int64_t other = keep ? second : first;
    sides.compute = run(compute, other, {});
    sides.other = run(other, compute, sides.compute);
    sides.compute_extent = extentOf(sides.compute);
    sides.other_extent = extentOf(sides.other);
    for (const auto& [side, extent] :
         {std::pair(compute, sides.compute_extent), std::pair(other, sides.other_extent)}) {
      if (extent < kLeastSide) {
        return Refusal{text("the side of ", axisOf(side), " has ", extent,
                            " elements; a tile gains from ", kLeastSide, " on")};
      }
    }
    for (const TensorView* tv : tensors_) {
      sides.bytes += bytesOf(tv);
      // (A tile has all axes of both sides: they are one loop each.)
      if (innermost(tv) == other && hasAll(tv, sides.compute) && hasAll(tv, sides.other)) {
        sides.turned.push_back(tv);
      }
    }
    if (sides.turned.empty()) {
      return Refusal{text("no tensor along ", axisOf(other), " has all axes of a tile")};
    }
    if (info_.isHost() && sides.bytes < kLeastOnHost) {
      return Refusal{text(sides.bytes, " bytes stay in the first cache; tiles gain from ",
                          kLeastOnHost, " on")};
    }
    sides.turned_bytes = keep ? along_second : along_first;
    const bool is_large = sides.compute_extent * sides.other_extent >= kLargeTile;
    sides.pointwise_bytes = std::min(linesMoved(compute, is_large), linesMoved(other, is_large));
    if (sides.pointwise_bytes < kGain * sides.bytes) {
      return Refusal{text("without tiles, lines of ", sides.pointwise_bytes,
                          " bytes would be moved for ", sides.bytes,
                          " bytes; tiles gain from a factor of ", kGain, " on")};
    }
    std::vector<int64_t> taken = sides.compute;
    taken.insert(taken.end(), sides.other.begin(), sides.other.end());
    for (int64_t axis : reference_.memoryOrder(largest(compute), info_)) {
      if (std::find(taken.begin(), taken.end(), axis) == taken.end()) {
        sides.rest.push_back(axis);
      }
    }
    sides.rest_extent = extentOf(sides.rest);
    return sides;
  }

 private:
  IterDomain* axisOf(int64_t axis) const { return reference_.axes()[static_cast<size_t>(axis)]; }

  bool has(const TensorView* tv, int64_t axis) const { return strideOf(tv, axis) > 0; }

  bool hasAll(const TensorView* tv, const std::vector<int64_t>& axes) const {
    return std::all_of(axes.begin(), axes.end(), [&](int64_t axis) {
      return reference_.find(tv, static_cast<size_t>(axis)) != nullptr ||
             axisOf(axis)->isBroadcast();
    });
  }

  /// In elements; 0 where a tensor is the same all along the axis.
  int64_t strideOf(const TensorView* tv, int64_t axis) const {
    const IterDomain* id = reference_.find(tv, static_cast<size_t>(axis));
    const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
    const auto place = std::find(logical.begin(), logical.end(), id);
    if (place == logical.end()) {
      return 0;
    }
    const std::vector<int64_t> strides =
        isWindow(tv) ? windowStrides(tv, info_) : info_.strides(tv);
    return strides[static_cast<size_t>(place - logical.begin())];
  }

  int64_t extentOf(int64_t axis) const { return info_.extent(axisOf(axis)); }
  int64_t extentOf(const std::vector<int64_t>& axes) const {
    int64_t extent = 1;
    for (int64_t axis : axes) {
      extent *= extentOf(axis);
    }
    return extent;
  }

  double bytesOf(const TensorView* tv) const { return static_cast<double>(info_.bytes(tv)); }

  /// The axis with the least stride among those that are longer than 1; −1 if there is none.
  int64_t innermost(const TensorView* tv) const {
    int64_t found = -1;
    int64_t least = 0;
    for (size_t i = 0; i < reference_.axes().size(); ++i) {
      const auto axis = static_cast<int64_t>(i);
      const int64_t stride = strideOf(tv, axis);
      if (stride > 0 && extentOf(axis) > 1 && (found < 0 || stride < least)) {
        found = axis;
        least = stride;
      }
    }
    return found;
  }

  static int64_t most(const std::map<int64_t, double>& bytes_along) {
    return std::max_element(bytes_along.begin(), bytes_along.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  /// Bytes of the tensors along `axis` that have `crossed` too.
  double turnedBytes(int64_t axis, int64_t crossed) const {
    double bytes = 0;
    for (const TensorView* tv : tensors_) {
      bytes += innermost(tv) == axis && has(tv, crossed) ? bytesOf(tv) : 0;
    }
    return bytes;
  }

  const TensorView* largest(int64_t axis) const {
    const TensorView* found = nullptr;
    for (const TensorView* tv : tensors_) {
      if (innermost(tv) == axis && (found == nullptr || bytesOf(tv) > bytesOf(found))) {
        found = tv;
      }
    }
    return found;
  }

  /// `axis` and those that follow it outwards in the memory of its largest tensor, until they are
  /// long enough; not `opposite`, and none of `taken`. Outermost first.
  std::vector<int64_t> run(int64_t axis, int64_t opposite, const std::vector<int64_t>& taken) {
    const TensorView* tv = largest(axis);
    std::vector<int64_t> side{axis};
    int64_t extent = extentOf(axis);
    int64_t next_stride = strideOf(tv, axis) * extent;
    while (extent < kEnough) {
      int64_t next = -1;
      for (size_t i = 0; i < reference_.axes().size(); ++i) {
        const auto candidate = static_cast<int64_t>(i);
        if (candidate != opposite && strideOf(tv, candidate) == next_stride &&
            extentOf(candidate) > 1 &&
            std::find(side.begin(), side.end(), candidate) == side.end() &&
            std::find(taken.begin(), taken.end(), candidate) == taken.end()) {
          next = candidate;
        }
      }
      if (next < 0) {
        break;
      }
      side.insert(side.begin(), next);
      extent *= extentOf(next);
      next_stride *= extentOf(next);
    }
    return side;
  }

  /// Bytes of the lines that are moved if neighbouring threads (lanes) are neighbours along `axis`.
  /// On the CPU, elements that are no neighbours cost a line's time even in the cache: they are
  /// moved one by one. A GPU's caches keep the rest of a sector, but give it to threads once for
  /// each element: that is `within_sectors`, against which small tiles gain nothing.
  double linesMoved(int64_t axis, bool within_sectors) const {
    const int64_t line = info_.isHost() ? kLine : kSector;
    double bytes = 0;
    for (const TensorView* tv : tensors_) {
      const int64_t stride = strideOf(tv, axis);
      const int64_t size = SchedulerRuntimeInfo::elementBytes(tv);
      const bool in_one_line = !info_.isHost() && stride * size <= line;
      const bool together = stride <= 1 || (in_one_line && !within_sectors);
      const int64_t moved = in_one_line ? stride * size : line;
      bytes +=
          bytesOf(tv) * (together ? 1 : static_cast<double>(moved) / static_cast<double>(size));
    }
    return bytes;
  }

  const ReferenceAxes& reference_;
  const std::vector<TensorView*>& tensors_;
  SchedulerRuntimeInfo& info_;
};

}  // namespace

std::variant<Sides, Refusal> findSides(const ReferenceAxes& reference,
                                       const std::vector<TensorView*>& tensors,
                                       SchedulerRuntimeInfo& info) {
  return Search(reference, tensors, info).run();
}

}  // namespace nvfuser::transpose
