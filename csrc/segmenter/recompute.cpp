#include <segmenter/recompute.h>

#include <algorithm>
#include <optional>

namespace nvfuser {

namespace {

constexpr size_t kMostCopied = 8;   ///< units computed again for one tensor
constexpr size_t kMostReaders = 8;  ///< kernels that one tensor is computed again in

class Recomputing {
 public:
  Recomputing(const FusionTraits& traits, const MergeCosts& costs, const CostlyRepeats& costly,
              Questions& questions, std::vector<Part>& parts)
      : traits_(traits), costs_(costs), costly_(costly), questions_(questions), parts_(parts) {
    home_.assign(static_cast<size_t>(traits.numUnits()), -1);
    readers_.resize(traits.tensors().size());
    for (size_t p = 0; p < parts.size(); ++p) {
      for (int unit : parts[p].units) {
        home_[static_cast<size_t>(unit)] = static_cast<int>(p);
      }
      setReads(static_cast<int>(p), readsOf(parts[p]));
      stored_of_.push_back(parts[p].stored.size());
    }
  }

  void run() {
    for (auto t = static_cast<int>(traits_.tensors().size()); t-- > 0;) {
      const TensorTraits& tensor = traits_.tensor(t);
      if (tensor.unit < 0 || tensor.is_output || !traits_.unit(tensor.unit).copies) {
        continue;
      }
      const int home = home_[static_cast<size_t>(tensor.unit)];
      const std::set<int>& readers = readers_[static_cast<size_t>(t)];
      if (readers.empty() || readers.size() > kMostReaders || part(home).stored.count(t) == 0) {
        continue;
      }
      std::optional<Change> best;
      for (size_t most : {size_t{1}, kMostCopied}) {
        std::optional<Change> change = propose(t, home, most);
        if (change && change->saved > (best ? best->saved : 0)) {
          best = std::move(change);
        }
      }
      if (best && allTaken(*best)) {
        apply(*best);
      }
    }
  }

 private:
  struct Change {
    double saved = 0;
    std::vector<std::pair<int, Part>> parts;  ///< what becomes of them
  };

  const Part& part(int p) const { return parts_[static_cast<size_t>(p)]; }
  bool computes(const Part& of, int unit) const {
    return std::binary_search(of.units.begin(), of.units.end(), unit);
  }
  double bytes(int t) const { return static_cast<double>(traits_.tensor(t).bytes); }

  std::set<int> readsOf(const Part& of) const {
    std::set<int> reads;
    for (int unit : of.units) {
      for (int t : traits_.unit(unit).reads) {
        if (traits_.tensor(t).unit < 0 || !computes(of, traits_.tensor(t).unit)) {
          reads.insert(t);
        }
      }
    }
    return reads;
  }

  void setReads(int p, std::set<int> reads) {
    reads_.resize(parts_.size());
    std::set<int>& mine = reads_[static_cast<size_t>(p)];
    for (int t : mine) {
      readers_[static_cast<size_t>(t)].erase(p);
    }
    mine = std::move(reads);
    for (int t : mine) {
      readers_[static_cast<size_t>(t)].insert(p);
    }
  }

  /// Whether all that it stores could be computed again by its readers.
  bool mayEnd(const Part& of) const {
    return std::all_of(of.stored.begin(), of.stored.end(), [&](int t) {
      const TensorTraits& tensor = traits_.tensor(t);
      return !tensor.is_output && traits_.unit(tensor.unit).copies &&
             readers_[static_cast<size_t>(t)].size() <= kMostReaders;
    });
  }

  /// Without units that nothing stored depends on.
  Part pruned(Part of) const {
    std::set<int> needed(of.stored.begin(), of.stored.end());
    std::vector<int> kept;
    for (auto unit = of.units.rbegin(); unit != of.units.rend(); ++unit) {
      const UnitTraits& traits = traits_.unit(*unit);
      if (std::any_of(traits.writes.begin(), traits.writes.end(),
                      [&](int t) { return needed.count(t) != 0; })) {
        kept.push_back(*unit);
        needed.insert(traits.reads.begin(), traits.reads.end());
      }
    }
    std::reverse(kept.begin(), kept.end());
    of.units = std::move(kept);
    return of;
  }

  /// What computing `t` again in its readers would change, with up to `most` units copied.
  std::optional<Change> propose(int t, int home, size_t most) const {
    Part producer = part(home);
    producer.stored.erase(t);
    std::set<int> copied{traits_.tensor(t).unit};
    std::vector<int> open{traits_.tensor(t).unit};
    double saved = 0;
    double work = 0;
    bool stores_more = false;
    while (!open.empty()) {
      const UnitTraits& unit = traits_.unit(open.back());
      open.pop_back();
      work += unit.work;
      for (int source : unit.reads) {
        const int from = traits_.tensor(source).unit;
        if (from < 0 || !computes(part(home), from) || producer.stored.count(source) != 0) {
          continue;
        }
        if (copied.count(from) != 0) {
          continue;
        }
        if (traits_.unit(from).copies && copied.size() < most) {
          copied.insert(from);
          open.push_back(from);
        } else if (home_[static_cast<size_t>(from)] == home) {
          producer.stored.insert(source);
          stores_more = true;
          saved -= bytes(source);
        } else {
          return std::nullopt;
        }
      }
    }
    const auto h = static_cast<size_t>(home);
    const std::set<int>& readers = readers_[static_cast<size_t>(t)];
    saved += bytes(t);
    Change change;
    producer = pruned(std::move(producer));
    const std::set<int> reads_left = readsOf(producer);
    for (int read : reads_[static_cast<size_t>(home)]) {
      saved += reads_left.count(read) == 0 ? bytes(read) : 0;
    }
    // One kernel less, once all that it stores is computed by others: a share for each tensor.
    saved += !stores_more && mayEnd(part(home))
                 ? costs_.bytes_per_launch / static_cast<double>(stored_of_[h])
                 : 0;
    change.parts.emplace_back(home, std::move(producer));
    for (int reader : readers) {
      Part next = part(reader);
      if (traits_.unit(next.units.back()).alone ||
          costly_.keepApart({copied.begin(), copied.end()}, next.units)) {
        return std::nullopt;
      }
      std::vector<int> units;
      std::set_union(next.units.begin(), next.units.end(), copied.begin(), copied.end(),
                     std::back_inserter(units));
      next.units = std::move(units);
      next = pruned(std::move(next));
      const std::set<int> reads = readsOf(next);
      size_t weight = 0;
      for (int unit : next.units) {
        weight += static_cast<size_t>(traits_.unit(unit).weight);
      }
      if (reads.size() + next.stored.size() > costs_.most_borders || weight > costs_.most_weight) {
        return std::nullopt;
      }
      for (int read : reads) {
        saved -= reads_[static_cast<size_t>(reader)].count(read) == 0 ? bytes(read) : 0;
      }
      saved += bytes(t);
      change.parts.emplace_back(reader, std::move(next));
    }
    change.saved = saved - work * static_cast<double>(readers.size()) / costs_.work_per_byte;
    return change;
  }

  bool allTaken(const Change& change) {
    return std::all_of(change.parts.begin(), change.parts.end(), [&](const auto& item) {
      return item.second.units.size() < 2 || questions_.takes(item.second);
    });
  }

  void apply(Change& change) {
    for (auto& [p, next] : change.parts) {
      setReads(p, readsOf(next));
      parts_[static_cast<size_t>(p)] = std::move(next);
    }
  }

  const FusionTraits& traits_;
  const MergeCosts& costs_;
  const CostlyRepeats& costly_;
  Questions& questions_;
  std::vector<Part>& parts_;
  std::vector<int> home_;               ///< by unit
  std::vector<size_t> stored_of_;       ///< by part: tensors that it stored at first
  std::vector<std::set<int>> reads_;    ///< by part: tensors computed elsewhere
  std::vector<std::set<int>> readers_;  ///< by tensor: parts
};

}  // namespace

void recomputeAtBorders(const FusionTraits& traits, const MergeCosts& costs,
                        const CostlyRepeats& costly, Questions& questions,
                        std::vector<Part>& parts) {
  Recomputing(traits, costs, costly, questions, parts).run();
}

}  // namespace nvfuser
