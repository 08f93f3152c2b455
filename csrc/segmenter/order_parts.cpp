#include <segmenter/order_parts.h>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace nvfuser {

namespace {

constexpr size_t kMostCompared = 32;  ///< parts that can run: near-linear time for wide fusions

class Ordering {
 public:
  Ordering(const FusionTraits& traits, std::vector<Part> parts)
      : traits_(traits), parts_(std::move(parts)), readers_left_(traits.tensors().size(), 0) {
    std::vector<int> stored_by(traits.tensors().size(), -1);
    for (size_t p = 0; p < parts_.size(); ++p) {
      for (int t : parts_[p].stored) {
        stored_by[static_cast<size_t>(t)] = static_cast<int>(p);
      }
    }
    reads_.resize(parts_.size());
    waits_.resize(parts_.size());
    next_of_.resize(parts_.size());
    holds_.resize(parts_.size());
    held_by_.resize(parts_.size());
    holdUpdates();
    for (size_t p = 0; p < parts_.size(); ++p) {
      std::set<int> before;
      for (int t : readsOf(parts_[p])) {
        const int from = stored_by[static_cast<size_t>(t)];
        check(from >= 0, "a kernel reads a tensor that no kernel stores");
        before.insert(from);
        reads_[p].push_back(t);
        ++readers_left_[static_cast<size_t>(t)];
      }
      waits_[p] = before.size();
      for (int other : before) {
        next_of_[static_cast<size_t>(other)].push_back(p);
      }
    }
  }

  std::vector<Part> run() {
    for (size_t p = 0; p < parts_.size(); ++p) {
      noteReady(p);
    }
    std::vector<Part> ordered;
    while (!ready_.empty() || !held_.empty()) {
      std::set<size_t>& candidates = ready_.empty() ? held_ : ready_;
      const size_t p = leastGrowth(candidates);
      candidates.erase(p);
      done_.insert(p);
      for (int t : reads_[p]) {
        --readers_left_[static_cast<size_t>(t)];
      }
      for (size_t after : next_of_[p]) {
        --waits_[after];
        noteReady(after);
      }
      for (size_t after : holds_[p]) {
        --held_by_[after];
        noteReady(after);
      }
      ordered.push_back(std::move(parts_[p]));
    }
    check(ordered.size() == parts_.size(), "kernels depend on each other");
    return ordered;
  }

 private:
  /// A part that writes to an input of the fusion can do so itself if nobody reads that input
  /// behind it; else its result is copied there when all have run (runtime/in_place.h).
  void holdUpdates() {
    std::unordered_map<const Val*, std::vector<size_t>> updating;  // by input
    for (size_t p = 0; p < parts_.size(); ++p) {
      for (int t : parts_[p].stored) {
        const TensorView* tv = traits_.tensor(t).tv;
        const AliasInfo& alias = tv->fusion()->getOutputAlias(tv);
        if (alias.type == AllocationType::ReuseBuffer) {
          updating[alias.aliased_io].push_back(p);
        }
      }
    }
    for (size_t q = 0; q < parts_.size(); ++q) {
      std::set<size_t> after;
      for (int unit : parts_[q].units) {
        for (int t : traits_.unit(unit).reads) {
          const auto updates = updating.find(traits_.tensor(t).tv);
          if (updates != updating.end()) {
            after.insert(updates->second.begin(), updates->second.end());
          }
        }
      }
      after.erase(q);
      for (size_t p : after) {
        holds_[q].push_back(p);
        ++held_by_[p];
      }
    }
  }

  void noteReady(size_t p) {
    if (waits_[p] != 0 || done_.count(p) != 0) {
      return;
    }
    held_.erase(p);
    (held_by_[p] == 0 ? ready_ : held_).insert(p);
  }

  /// Tensors of other parts.
  std::set<int> readsOf(const Part& part) const {
    std::set<int> tensors;
    for (int unit : part.units) {
      for (int t : traits_.unit(unit).reads) {
        const int from = traits_.tensor(t).unit;
        if (from >= 0 && !std::binary_search(part.units.begin(), part.units.end(), from)) {
          tensors.insert(t);
        }
      }
    }
    return tensors;
  }

  size_t leastGrowth(const std::set<size_t>& candidates) const {
    size_t best = *candidates.begin();
    int64_t least = growth(best);
    size_t compared = 1;
    for (auto it = std::next(candidates.begin());
         it != candidates.end() && compared < kMostCompared; ++it, ++compared) {
      const int64_t of_this = growth(*it);
      if (of_this < least) {
        least = of_this;
        best = *it;
      }
    }
    return best;
  }

  /// Bytes in memory behind the part, less those before it.
  int64_t growth(size_t p) const {
    int64_t bytes = 0;
    for (int t : parts_[p].stored) {
      bytes += traits_.tensor(t).bytes;
    }
    for (int t : reads_[p]) {
      const TensorTraits& tensor = traits_.tensor(t);
      bytes -= !tensor.is_output && readers_left_[static_cast<size_t>(t)] == 1 ? tensor.bytes : 0;
    }
    return bytes;
  }

  const FusionTraits& traits_;
  std::vector<Part> parts_;
  std::vector<std::vector<int>> reads_;
  std::vector<size_t> waits_;
  std::vector<std::vector<size_t>> next_of_;
  std::vector<int> readers_left_;           ///< by tensor: parts
  std::vector<std::vector<size_t>> holds_;  ///< by part: those that update what it reads
  std::vector<size_t> held_by_;             ///< how many of these have not run
  std::set<size_t> ready_;                  ///< can run
  std::set<size_t> held_;                   ///< can run, but update what others still read
  std::set<size_t> done_;
};

}  // namespace

std::vector<Part> orderParts(const FusionTraits& traits, std::vector<Part> parts) {
  std::erase_if(parts, [](const Part& part) { return part.units.empty(); });
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.units.back() < b.units.back(); });
  return Ordering(traits, std::move(parts)).run();
}

}  // namespace nvfuser
