#include <iteration_space/promotion.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include <id_model/axes_before.h>
#include <iteration_space/visited_axes.h>

namespace nvfuser {

namespace {

/// Classes of the axes that `id` was scheduled from: those of its tensor's logical domain, or, with
/// `to_root`, of its root. Broadcast axes are left out.
std::set<int> concreteSources(const IterDomain* id, const IdGraph& exact, bool to_root) {
  const auto& logical = exact.tensorOf(id)->getLogicalDomain();
  const std::vector<IterDomain*> stop = to_root ? std::vector<IterDomain*>() : logical;
  std::set<int> sources;
  for (const IterDomain* axis : axesBefore({id}, stop)) {
    const bool is_source =
        axis->definition() == nullptr || std::find(stop.begin(), stop.end(), axis) != stop.end();
    if (is_source && !axis->isBroadcast()) {
      sources.insert(exact.classOf(axis));
    }
  }
  return sources;
}

const IterDomain* axisOf(const LoopMember& member) {
  return member.first->getLoopDomain()[static_cast<size_t>(member.second)];
}

/// How many transforms of concrete axes an axis was scheduled by.
size_t transformsOf(const IterDomain* id, const IdGraph& exact) {
  const auto& logical = exact.tensorOf(id)->getLogicalDomain();
  std::set<const Expr*> concrete;
  for (const IterDomain* axis : axesBefore({id}, logical)) {
    const Expr* def = axis->definition();
    if (def != nullptr && std::find(logical.begin(), logical.end(), axis) == logical.end() &&
        std::none_of(def->inputs().begin(), def->inputs().end(),
                     [](const Val* in) { return in->as<IterDomain>()->isBroadcast(); })) {
      concrete.insert(def);
    }
  }
  return concrete.size();
}

/// The member whose axis has most sources; among equals, one that is not broadcast, and of these
/// one of fewest transforms: what follows a reshape has those of the reshape, too.
size_t widestOf(const std::vector<LoopMember>& members, const IdGraph& exact) {
  const auto rank = [&](const IterDomain* id) {
    return std::tuple(concreteSources(id, exact, false).size(), !id->isBroadcast());
  };
  size_t widest = 0;
  auto most = rank(axisOf(members.front()));
  for (size_t i = 1; i < members.size(); ++i) {
    const IterDomain* id = axisOf(members[i]);
    const IterDomain* best = axisOf(members[widest]);
    const auto of_id = rank(id);
    if (of_id > most || (of_id == most && !exact.mapped(id, best) &&
                         transformsOf(id, exact) < transformsOf(best, exact))) {
      widest = i;
      most = of_id;
    }
  }
  return widest;
}

/// Which members' axes loops over each other's come to. Members whose axes are of one class and
/// were scheduled from the same axes are one kind: a loop over any of them covers the same axes.
/// What can be asked of a kind is worked out once, as hundreds of tensors may share a loop.
class Coverage {
 public:
  Coverage(const std::vector<LoopMember>& members, const IdGraph& exact)
      : members_(members), exact_(exact) {
    std::map<std::tuple<int, std::set<int>, std::set<int>>, size_t> known;
    for (const LoopMember& member : members) {
      const IterDomain* id = axisOf(member);
      Kind kind{id,
                exact.classOf(id),
                concreteSources(id, exact, false),
                concreteSources(id, exact, true),
                {}};
      const auto [at, is_new] =
          known.emplace(std::tuple(kind.of_class, kind.logical, kind.root), kinds_.size());
      if (is_new) {
        kinds_.push_back(std::move(kind));
      }
      kind_of_.push_back(at->second);
    }
  }

  /// Members, by position, that a loop over the axis of member `start` does not cover. What a
  /// covered axis covers is covered, too: of x[b·i0] → repeat → reshape[k] → y[2·k], the last
  /// covers k, and k is 3·i0.
  std::vector<size_t> notCoveredBy(size_t start) {
    std::vector<size_t> open{kind_of_[start]};
    std::vector<bool> seen(kinds_.size());
    seen[open.front()] = true;
    std::vector<size_t> left(kind_of_.size());
    std::iota(left.begin(), left.end(), size_t{0});
    for (size_t next = 0; next < open.size() && !left.empty(); ++next) {
      Kind& wide = kinds_[open[next]];
      std::erase_if(left, [&](size_t member) {
        const bool is_covered = covers(wide, member);
        if (is_covered && !seen[kind_of_[member]]) {
          seen[kind_of_[member]] = true;
          open.push_back(kind_of_[member]);
        }
        return is_covered;
      });
    }
    return left;
  }

  /// Whether it is the first of its kind.
  bool isFirst(size_t member) const {
    return std::find(kind_of_.begin(), kind_of_.end(), kind_of_[member]) - kind_of_.begin() ==
           static_cast<std::ptrdiff_t>(member);
  }

 private:
  struct Kind {
    const IterDomain* id;
    int of_class;
    std::set<int> logical;  ///< classes it was scheduled from
    std::set<int> root;     ///< and those of roots
    std::optional<VisitedAxes> visited;
  };
  /// Whether a loop over an axis of the kind comes to each index of a member's.
  bool covers(Kind& wide, size_t member) {
    const Kind& other = kinds_[kind_of_[member]];
    if (wide.of_class == other.of_class || includes(wide.logical, other.logical) ||
        includes(wide.root, other.root)) {
      return true;
    }
    if (!wide.visited.has_value()) {
      wide.visited.emplace(std::vector<int>(wide.logical.begin(), wide.logical.end()), exact_);
    }
    return wide.visited->leadTo(axisOf(members_[member]));
  }

  static bool includes(const std::set<int>& all, const std::set<int>& some) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
  }

  const std::vector<LoopMember>& members_;
  const IdGraph& exact_;
  std::vector<Kind> kinds_;
  std::vector<size_t> kind_of_;  ///< by member
};

}  // namespace

Promotion promotionOf(const std::vector<LoopMember>& members, const IdGraph& exact) {
  Coverage coverage(members, exact);
  const size_t widest = widestOf(members, exact);
  Promotion promotion;
  promotion.over = axisOf(members[widest]);
  const std::vector<size_t> left = coverage.notCoveredBy(widest);
  if (left.empty()) {
    return promotion;
  }
  // An axis of few sources may be the one that the others are made of.
  for (size_t start = 0; start < members.size(); ++start) {
    if (coverage.isFirst(start) && coverage.notCoveredBy(start).empty()) {
      promotion.over = axisOf(members[start]);
      return promotion;
    }
  }
  promotion.uncovered = members[left.front()];
  return promotion;
}

}  // namespace nvfuser
