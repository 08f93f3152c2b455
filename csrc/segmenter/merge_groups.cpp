#include <segmenter/merge_groups.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>

namespace nvfuser {

namespace {

/// A guess: more memory is worth a quarter of what it would take to move it.
constexpr double kBytesPerHeld = 0.25;

/// Additions in a kernel, or what takes a compiler as long: about half a second of the host's, one
/// of NVRTC.
constexpr size_t kMostWeight = 1000;
constexpr size_t kMostWeightOfGpus = 4000;

/// Of a reduction's operations for each element.
constexpr double kHiddenWork = 8;
/// Loops of the CPU compute once what is the same in all their iterations (costly_repeats.h).
constexpr double kAllHidden = std::numeric_limits<double>::infinity();

/// Each tensor of a kernel goes through the transforms of all reshapes in it.
constexpr size_t kMostReplayed = 8192;

}  // namespace

MergeCosts MergeCosts::of(DeviceKind device) {
  if (device == DeviceKind::Cpu) {
    // 5 us to start the pool's tasks at 20 GB/s; 100 Gflop/s.
    return {100e3, 5, kBytesPerHeld, 256, kMostWeight, kMostReplayed, 0, kAllHidden, true};
  }
  // 2.6 us at 4 TB/s; 60 Tflop/s.
  return {10e6,          15,          kBytesPerHeld, 256,  kMostWeightOfGpus,
          kMostReplayed, kLeastAlike, kHiddenWork,   false};
}

double repeatedWork(double work, int64_t elements, int64_t at, double hidden) {
  if (elements <= 0 || at <= elements) {
    return 0;
  }
  const double of_element = work / static_cast<double>(elements);
  return std::max(of_element - hidden, 0.0) * static_cast<double>(at - elements);
}

bool looksLikeOneKernel(const GroupGraph::Node& a, const GroupGraph::Node& b,
                        const GroupGraph::Union& both) {
  if (a.signature == -2 || b.signature == -2) {
    return false;
  }
  if (a.signature < 0 && b.signature < 0) {
    return both.written_spaces.size() <= 1;
  }
  if (a.signature >= 0 && b.signature >= 0 && a.signature != b.signature) {
    return false;
  }
  const GroupGraph::Node& reduces = a.signature >= 0 ? a : b;
  return std::all_of(both.written_spaces.begin(), both.written_spaces.end(), [&](const auto& item) {
    return item.first == reduces.kept || item.first == reduces.reduced_space;
  });
}

namespace {

constexpr int kMostSweeps = 8;    ///< over pairs that could not be merged at first
constexpr int kMostReplaced = 3;  ///< times that a pair goes back because others are due by now

/// Up to so many units the order is as ever: groups fill up to the most borders of a kernel.
constexpr size_t kFewUnits = 128;

int weightOf(const GroupGraph::Union& both) {
  return both.num_units <= kFewUnits ? 0 : static_cast<int>(std::bit_width(both.num_units));
}

/// Two units whose groups may become one.
struct Pair {
  double gain;
  int first;
  int second;
  int weight = 0;  ///< 0 for few units in both groups, else how many, by powers of two
  int replaced = 0;
  int versions = -1;  ///< of its groups when they were tried in vain

  /// The queue's top is the largest gain, then the lighter union, so that a long chain is joined
  /// from parts of about equal length and asked about n log n operations; then the earliest units.
  bool operator<(const Pair& other) const {
    if (gain != other.gain) {
      return gain < other.gain;
    }
    if (weight != other.weight) {
      return weight > other.weight;
    }
    return std::pair(first, second) > std::pair(other.first, other.second);
  }
};

class Merging {
 public:
  Merging(const FusionTraits& traits, GroupGraph& graph, const MergeCosts& costs,
          const AcceptsUnion& accepts)
      : traits_(traits), graph_(graph), costs_(costs), accepts_(accepts) {}

  int64_t run() {
    collectPairs();
    bool merged = true;
    for (int sweep = 0; sweep < kMostSweeps && merged; ++sweep) {
      merged = drain();
      for (Pair& pair : waiting_) {
        if (versions(pair) != pair.versions && !together(pair)) {
          pair.replaced = 0;
          queue_.push(pair);
        }
      }
      std::erase_if(waiting_, [&](const Pair& pair) { return versions(pair) != pair.versions; });
    }
    return trials_;
  }

 private:
  bool together(const Pair& pair) const {
    return graph_.groupOf(pair.first) == graph_.groupOf(pair.second);
  }
  int versions(const Pair& pair) const {
    return graph_.node(graph_.groupOf(pair.first)).version +
           graph_.node(graph_.groupOf(pair.second)).version;
  }

  void addPair(int first, int second) {
    Pair pair{0, std::min(first, second), std::max(first, second)};
    const int a = graph_.groupOf(first);
    const int b = graph_.groupOf(second);
    if (a == b || graph_.node(a).alone || graph_.node(b).alone) {
      return;
    }
    const GroupGraph::Union both = graph_.unionOf(a, b);
    pair.gain = gainOf(a, b, both);
    pair.weight = weightOf(both);
    queue_.push(pair);
  }

  /// Each producer with each consumer; of the readers of a tensor, neighbours, and neighbours among
  /// those of one space.
  void collectPairs() {
    for (const TensorTraits& tensor : traits_.tensors()) {
      std::map<std::pair<int, int>, int> last_of;
      int last = -1;
      for (int reader : tensor.readers) {
        if (tensor.unit >= 0) {
          addPair(tensor.unit, reader);
        }
        const UnitTraits& unit = traits_.unit(reader);
        const auto [place, is_new] =
            last_of.emplace(std::make_pair(unit.space, unit.signature), reader);
        if (!is_new) {
          addPair(place->second, reader);
        }
        if (last >= 0 && (is_new || place->second != last)) {
          addPair(last, reader);
        }
        place->second = last = reader;
      }
    }
  }

  double gainOf(int a, int b, const GroupGraph::Union& both) const {
    const GroupGraph::Node* large = &graph_.node(a);
    const GroupGraph::Node* small = &graph_.node(b);
    if (small->elements > large->elements) {
      std::swap(large, small);
    }
    double again = 0;
    if (small->space != large->space && small->signature == -1) {
      // What a reduction reads hides some work; its rows and its results are no spaces of others.
      const bool is_own = small->space == large->kept || small->space == large->reduced_space;
      const double hidden = large->signature == -1 ? 0 : costs_.hidden_work;
      again = large->signature >= 0 && is_own
                  ? 0
                  : repeatedWork(small->work, small->elements, large->elements, hidden);
    }
    return both.saved_bytes + costs_.bytes_per_launch - again / costs_.work_per_byte -
           both.held_bytes * costs_.bytes_per_held;
  }

  /// Takes pairs from the queue until it is empty. Whether anything was merged.
  bool drain() {
    bool any = false;
    while (!queue_.empty()) {
      Pair pair = queue_.top();
      queue_.pop();
      const int a = graph_.groupOf(pair.first);
      const int b = graph_.groupOf(pair.second);
      if (a == b) {
        continue;
      }
      ++trials_;
      const GroupGraph::Union both = graph_.unionOf(a, b);
      const double gain = gainOf(a, b, both);
      const Pair now{gain, pair.first, pair.second, weightOf(both), pair.replaced + 1};
      if ((gain < pair.gain || now.weight > pair.weight) && pair.replaced < kMostReplaced &&
          !queue_.empty() && now < queue_.top()) {
        queue_.push(now);
        continue;
      }
      const bool fits = both.weight <= costs_.most_weight && !both.joins_wide &&
                        !both.crosses_cut && both.num_borders <= costs_.most_borders &&
                        both.num_units * both.num_transforms <= costs_.most_replayed;
      pair.gain = gain;
      if (gain > 0 && fits && accepts_(a, b, both) && graph_.merge(a, b).has_value()) {
        any = true;
      } else {
        pair.versions = versions(pair);
        waiting_.push_back(pair);
      }
    }
    return any;
  }

  const FusionTraits& traits_;
  GroupGraph& graph_;
  const MergeCosts& costs_;
  const AcceptsUnion& accepts_;
  std::priority_queue<Pair> queue_;
  std::vector<Pair> waiting_;
  int64_t trials_ = 0;
};

}  // namespace

int64_t mergeGroups(const FusionTraits& traits, GroupGraph& graph, const MergeCosts& costs,
                    const AcceptsUnion& accepts) {
  return Merging(traits, graph, costs, accepts).run();
}

}  // namespace nvfuser
