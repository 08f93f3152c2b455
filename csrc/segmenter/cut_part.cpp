#include <segmenter/cut_part.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace nvfuser {

std::pair<std::vector<int>, std::vector<int>> cutPart(const FusionTraits& traits,
                                                      const std::vector<int>& units) {
  // A tensor crosses from its first place to its last: stored and loaded, or loaded twice.
  struct Reach {
    size_t first;
    size_t last;
    bool computed;
  };
  std::map<int, Reach> reach;
  for (size_t place = 0; place < units.size(); ++place) {
    const UnitTraits& unit = traits.unit(units[place]);
    for (int t : unit.reads) {
      reach.try_emplace(t, Reach{place, place, false}).first->second.last = place;
    }
    for (int t : unit.writes) {
      reach.try_emplace(t, Reach{place, place, true});
    }
  }
  std::vector<double> change(units.size() + 1, 0);
  for (const auto& [t, of] : reach) {
    const TensorTraits& tensor = traits.tensor(t);
    const auto& readers = tensor.readers;
    const bool stored_anyway =
        tensor.is_output || !std::all_of(readers.begin(), readers.end(), [&](int unit) {
          return std::binary_search(units.begin(), units.end(), unit);
        });
    const double bytes =
        static_cast<double>(tensor.bytes) * (of.computed && !stored_anyway ? 2 : 1);
    change[of.first] += bytes;
    change[of.last] -= bytes;
  }
  // cost: of cutting behind a place.
  const size_t n = units.size();
  const size_t begin = std::max<size_t>(n / 4, 1);
  const size_t end = std::max(n - n / 4, begin + 1);
  size_t best = 0;
  double best_cost = 0;
  double cost = 0;
  auto off_middle = [&](size_t size) { return size * 2 > n ? size * 2 - n : n - size * 2; };
  for (size_t size = 1; size < n; ++size) {  // of the first piece
    cost += change[size - 1];
    if (size < begin || size >= end) {
      continue;
    }
    const bool better = cost < best_cost * (1 - 1e-9) ||
                        (cost <= best_cost * (1 + 1e-9) && off_middle(size) < off_middle(best));
    if (best == 0 || better) {
      best = size;
      best_cost = cost;
    }
  }
  const auto middle = units.begin() + static_cast<std::ptrdiff_t>(best);
  return {{units.begin(), middle}, {middle, units.end()}};
}

}  // namespace nvfuser
