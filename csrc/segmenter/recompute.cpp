#include <segmenter/recompute.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>

namespace nvfuser {

namespace {

constexpr size_t kMostCopied = 8;   ///< units computed again for one tensor
constexpr size_t kMostReaders = 8;  ///< kernels that one tensor is computed again in

/// Operations in questions, for each operation of the Fusion.
constexpr int64_t kAskedAgainPerUnit = 16;

class Recomputing {
 public:
  Recomputing(const FusionTraits& traits, const MergeCosts& costs, const CostlyRepeats& costly,
              Questions& questions, const std::vector<Part>& parts)
      : traits_(traits), costs_(costs), costly_(costly), questions_(questions) {
    kernels_.parts = parts;
    asked_before_ = questions.askedUnits();
    home_.assign(static_cast<size_t>(traits.numUnits()), -1);
    kernels_.readers.resize(traits.tensors().size());
    kernels_.reads.resize(parts.size());
    for (size_t p = 0; p < parts.size(); ++p) {
      for (int unit : parts[p].units) {
        home_[static_cast<size_t>(unit)] = static_cast<int>(p);
      }
      setReads(static_cast<int>(p), readsOf(parts[p]));
      stored_of_.push_back(parts[p].stored.size());
    }
    findAlike();
  }

  void run() {
    std::vector<int> tensors(traits_.tensors().size());
    std::iota(tensors.rbegin(), tensors.rend(), 0);
    tryTogether(tensors);
  }
  std::vector<Part> parts() && { return std::move(kernels_.parts); }

 private:
  /// Kernels of one form that are one launch. One of them that computes more is one of its own.
  void findAlike() {
    is_alike_.assign(kernels_.parts.size(), false);
    if (costs_.least_alike == 0 || kernels_.parts.size() < costs_.least_alike) {
      return;
    }
    std::map<std::vector<int>, std::vector<size_t>> by_form;
    for (size_t p = 0; p < kernels_.parts.size(); ++p) {
      by_form[questions_.formOf(kernels_.parts[p])].push_back(p);
    }
    for (const auto& [form, alike] : by_form) {
      for (size_t p : alike) {
        is_alike_[p] = alike.size() >= costs_.least_alike;
      }
    }
  }

  struct Kernels {
    std::vector<Part> parts;
    std::vector<std::set<int>> reads;    ///< by part: tensors computed elsewhere
    std::vector<std::set<int>> readers;  ///< by tensor: parts
  };
  struct Change {
    double saved = 0;
    std::vector<std::pair<int, Part>> parts;  ///< what becomes of them
  };

  /// Computes those of the tensors again for which that saves something. The schedulers are asked
  /// about all changes at once; where they refuse, about half of the tensors.
  void tryTogether(std::span<const int> tensors) {
    const Kernels before = kernels_;
    std::set<int> changed;
    for (int t : tensors) {
      if (const std::optional<Change> change = bestFor(t)) {
        for (const auto& [p, next] : change->parts) {
          setReads(p, readsOf(next));
          kernels_.parts[static_cast<size_t>(p)] = next;
          changed.insert(p);
        }
      }
    }
    if (changed.empty() ||
        std::all_of(changed.begin(), changed.end(), [&](int p) { return takes(part(p)); })) {
      return;
    }
    kernels_ = before;
    if (tensors.size() > 1 && mayAsk()) {
      tryTogether(tensors.first(tensors.size() / 2));
      tryTogether(tensors.subspan(tensors.size() / 2));
    }
  }

  bool mayAsk() const {
    return questions_.askedUnits() < asked_before_ + kAskedAgainPerUnit * traits_.numUnits();
  }
  bool takes(const Part& of) { return of.units.size() < 2 || (mayAsk() && questions_.takes(of)); }

  std::optional<Change> bestFor(int t) const {
    const TensorTraits& tensor = traits_.tensor(t);
    if (tensor.unit < 0 || tensor.is_output || !traits_.unit(tensor.unit).copies) {
      return std::nullopt;
    }
    const int home = home_[static_cast<size_t>(tensor.unit)];
    const std::set<int>& readers = readersOf(t);
    if (readers.empty() || readers.size() > kMostReaders || part(home).stored.count(t) == 0 ||
        isSpreadOtherwise(traits_.unit(tensor.unit), readers)) {
      return std::nullopt;
    }
    std::optional<Change> best;
    for (size_t most : {size_t{1}, kMostCopied}) {
      std::optional<Change> change = propose(t, home, most);
      if (change && change->saved > (best ? best->saved : 0)) {
        best = std::move(change);
      }
    }
    return best;
  }

  const Part& part(int p) const { return kernels_.parts[static_cast<size_t>(p)]; }
  const std::set<int>& readersOf(int t) const { return kernels_.readers[static_cast<size_t>(t)]; }
  const std::set<int>& readsNow(int p) const { return kernels_.reads[static_cast<size_t>(p)]; }
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

  /// Of `t` by all units of `of` that read it.
  double bytesRead(const Part& of, int t) const {
    int64_t read = 0;
    for (int reader : traits_.tensor(t).readers) {
      read += computes(of, reader) ? traits_.bytesReadBy(reader, t) : 0;
    }
    return std::min(static_cast<double>(read), bytes(t));
  }

  void setReads(int p, std::set<int> reads) {
    std::set<int>& mine = kernels_.reads[static_cast<size_t>(p)];
    for (int t : mine) {
      kernels_.readers[static_cast<size_t>(t)].erase(p);
    }
    mine = std::move(reads);
    for (int t : mine) {
      kernels_.readers[static_cast<size_t>(t)].insert(p);
    }
  }

  /// Whether all that it stores could be computed again by its readers.
  bool mayEnd(const Part& of) const {
    return std::all_of(of.stored.begin(), of.stored.end(), [&](int t) {
      const TensorTraits& tensor = traits_.tensor(t);
      return !tensor.is_output && traits_.unit(tensor.unit).copies &&
             readersOf(t).size() <= kMostReaders;
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

  /// Whether it spreads a tensor that a reader spreads along other axes: then it is read as it is,
  /// a view of that tensor. A kernel cannot have one tensor at two elements.
  bool isSpreadOtherwise(const UnitTraits& unit, const std::set<int>& readers) const {
    const auto* spread = dynamic_cast<const BroadcastOp*>(unit.exprs.back());
    return spread != nullptr && std::any_of(readers.begin(), readers.end(), [&](int reader) {
             const std::vector<int>& units = part(reader).units;
             return std::any_of(units.begin(), units.end(), [&](int other) {
               const auto* op = dynamic_cast<const BroadcastOp*>(traits_.unit(other).exprs.back());
               return op != nullptr && op->in() == spread->in() && op->flags() != spread->flags();
             });
           });
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
    const std::set<int>& readers = readersOf(t);
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
        const bool is_kept = isSpreadOtherwise(traits_.unit(from), readers);
        if (traits_.unit(from).copies && copied.size() < most && !is_kept) {
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
    saved += bytes(t);
    Change change;
    producer = pruned(std::move(producer));
    const std::set<int> reads_left = readsOf(producer);
    for (int read : readsNow(home)) {
      saved += reads_left.count(read) == 0 ? bytesRead(part(home), read) : 0;
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
        saved -= readsNow(reader).count(read) == 0 ? bytesRead(next, read) : 0;
      }
      saved += bytes(t);
      saved -= is_alike_[static_cast<size_t>(reader)] ? costs_.bytes_per_launch : 0;
      change.parts.emplace_back(reader, std::move(next));
    }
    work *= static_cast<double>(readers.size());
    for (int reader : readers) {
      work += repeated(copied, part(reader));
    }
    change.saved = saved - work / costs_.work_per_byte;
    return change;
  }

  /// Operations of units that a kernel of more elements does at each of its own.
  double repeated(const std::set<int>& copied, const Part& reader) const {
    int64_t elements = 0;
    for (int unit : reader.units) {
      elements = std::max(elements, traits_.unit(unit).elements);
    }
    double work = 0;
    for (int i : copied) {
      const UnitTraits& unit = traits_.unit(i);
      work += repeatedWork(unit.work, unit.elements, elements, costs_.hidden_work);
    }
    return work;
  }

  const FusionTraits& traits_;
  const MergeCosts& costs_;
  const CostlyRepeats& costly_;
  Questions& questions_;
  Kernels kernels_;
  int64_t asked_before_ = 0;       ///< units in questions of others
  std::vector<int> home_;          ///< by unit
  std::vector<bool> is_alike_;     ///< by part: one launch with others
  std::vector<size_t> stored_of_;  ///< by part: tensors that it stored at first
};

}  // namespace

void recomputeAtBorders(const FusionTraits& traits, const MergeCosts& costs,
                        const CostlyRepeats& costly, Questions& questions,
                        std::vector<Part>& parts) {
  Recomputing recomputing(traits, costs, costly, questions, parts);
  recomputing.run();
  parts = std::move(recomputing).parts();
}

}  // namespace nvfuser
