#include <segmenter/order_exchanges.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <ir/composite_nodes.h>
#include <ir/external_ops.h>
#include <ir/view_ops.h>

namespace nvfuser {

namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();

class Orderer {
 public:
  explicit Orderer(const std::vector<Group>& groups) : groups_(groups) {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const TensorView* output : groups[g].outputs) {
        maker_[output] = g;
      }
    }
    readers_.resize(groups.size());
    open_.resize(groups.size(), 0);
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const TensorView* input : groups[g].inputs) {
        if (const auto maker = maker_.find(input); maker != maker_.end()) {
          readers_[maker->second].push_back(g);
          ++open_[g];
        }
      }
    }
    findDues();
  }

  std::vector<size_t> run() {
    std::vector<size_t> order;
    std::vector<size_t> ready;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (open_[g] == 0) {
        ready.push_back(g);
      }
    }
    while (!ready.empty()) {
      const auto next = std::min_element(ready.begin(), ready.end(),
                                         [&](size_t a, size_t b) { return turnOf(a) < turnOf(b); });
      const size_t group = *next;
      ready.erase(next);
      order.push_back(group);
      note(group);
      for (const size_t reader : readers_[group]) {
        if (--open_[reader] == 0) {
          ready.push_back(reader);
        }
      }
    }
    return order;
  }

 private:
  const CommunicationOp* exchangeOf(size_t g) const {
    const std::vector<Expr*>& exprs = groups_[g].exprs;
    return exprs.size() == 1 && exprs[0]->isA<CommunicationOp>() ? exprs[0]->as<CommunicationOp>()
                                                                 : nullptr;
  }
  bool makesViews(size_t g) const {
    return std::all_of(groups_[g].exprs.begin(), groups_[g].exprs.end(), isViewOp);
  }
  bool isLibrarys(size_t g) const {
    return exchangeOf(g) == nullptr &&
           std::any_of(groups_[g].exprs.begin(), groups_[g].exprs.end(), isExternalOp);
  }

  /// The first exchange that waits for a group, and which of its operands.
  using Due = std::pair<size_t, size_t>;

  void findDues() {
    dues_.assign(groups_.size(), {kNever, 0});
    std::vector<size_t> places(groups_.size(), kNever);
    size_t exchanges = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (exchangeOf(g) != nullptr) {
        places[g] = exchanges++;
      }
    }
    for (size_t g = groups_.size(); g-- > 0;) {
      for (const size_t reader : readers_[g]) {
        const CommunicationOp* op = exchangeOf(reader);
        if (op == nullptr) {
          dues_[g] = std::min(dues_[g], dues_[reader]);
          continue;
        }
        for (size_t i = 0; i < op->count(); ++i) {
          const auto& outputs = groups_[g].outputs;
          if (std::find(outputs.begin(), outputs.end(), op->input(i)) != outputs.end()) {
            dues_[g] = std::min(dues_[g], {places[reader], i});
          }
        }
      }
    }
  }

  /// Exchanges and views cost nothing to begin; then what can be computed without waiting.
  std::tuple<bool, bool, Due, size_t> turnOf(size_t g) const {
    const bool is_free = exchangeOf(g) != nullptr || makesViews(g);
    return {!is_free, !is_free && waits(g), dues_[g], g};
  }

  /// For an exchange beside which no operation of a library has been put yet.
  bool waits(size_t g) const {
    return std::any_of(groups_[g].inputs.begin(), groups_[g].inputs.end(), [&](const auto* input) {
      const auto found = brought_.find(input);
      return found != brought_.end() && found->second == libraries_;
    });
  }

  void note(size_t g) {
    libraries_ += isLibrarys(g) ? 1 : 0;
    if (exchangeOf(g) != nullptr) {
      for (const TensorView* output : groups_[g].outputs) {
        brought_[output] = libraries_;
      }
    } else if (makesViews(g)) {
      for (const TensorView* input : groups_[g].inputs) {
        if (const auto found = brought_.find(input); found != brought_.end()) {
          const size_t since = found->second;
          for (const TensorView* output : groups_[g].outputs) {
            brought_[output] = since;
          }
        }
      }
    }
  }

  const std::vector<Group>& groups_;
  std::unordered_map<const TensorView*, size_t> maker_;
  std::vector<std::vector<size_t>> readers_;
  std::vector<size_t> open_;  ///< inputs that are not computed yet
  std::vector<Due> dues_;
  size_t libraries_ = 0;  ///< operations of libraries so far
  /// By what an exchange brings: how many there were when it began.
  std::unordered_map<const TensorView*, size_t> brought_;
};

}  // namespace

std::vector<Group> exchangesEarly(std::vector<Group> groups) {
  const bool any = std::any_of(groups.begin(), groups.end(), [](const Group& group) {
    return group.exprs.size() == 1 && group.exprs[0]->isA<CommunicationOp>();
  });
  if (!any) {
    return groups;
  }
  std::vector<Group> ordered;
  for (const size_t g : Orderer(groups).run()) {
    ordered.push_back(std::move(groups[g]));
  }
  check(ordered.size() == groups.size(), "groups read each other");
  return ordered;
}

}  // namespace nvfuser
