#include <iteration_space/promotion.h>

#include <algorithm>
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

/// Whether a loop over `wide` comes to each index of `id`.
bool covers(const IterDomain* wide, const IterDomain* id, const IdGraph& exact) {
  if (exact.mapped(wide, id)) {
    return true;
  }
  for (bool to_root : {false, true}) {
    const std::set<int> outer = concreteSources(wide, exact, to_root);
    const std::set<int> inner = concreteSources(id, exact, to_root);
    if (std::includes(outer.begin(), outer.end(), inner.begin(), inner.end())) {
      return true;
    }
  }
  const std::set<int> sources = concreteSources(wide, exact, false);
  return VisitedAxes({sources.begin(), sources.end()}, exact).leadTo(id);
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

/// The axis with most sources; among equals, one that is not broadcast, and of these one of fewest
/// transforms: what follows a reshape has those of the reshape, too.
const IterDomain* widestOf(const std::vector<LoopMember>& members, const IdGraph& exact) {
  const auto rank = [&](const IterDomain* id) {
    return std::tuple(concreteSources(id, exact, false).size(), !id->isBroadcast());
  };
  const IterDomain* widest = axisOf(members.front());
  for (const LoopMember& member : members) {
    const IterDomain* id = axisOf(member);
    const auto of_id = rank(id);
    const auto most = rank(widest);
    if (of_id > most || (of_id == most && !exact.mapped(id, widest) &&
                         transformsOf(id, exact) < transformsOf(widest, exact))) {
      widest = id;
    }
  }
  return widest;
}

/// Members that a loop over `id` does not cover. What a covered axis covers is covered, too: of
/// x[b·i0] → repeat → reshape[k] → y[2·k], the last covers k, and k is 3·i0.
std::vector<LoopMember> notCovered(const IterDomain* id, const std::vector<LoopMember>& members,
                                   const IdGraph& exact) {
  std::vector<const IterDomain*> known{id};
  std::vector<LoopMember> left = members;
  for (size_t next = 0; next < known.size(); ++next) {
    std::erase_if(left, [&](const LoopMember& member) {
      const bool is_covered = covers(known[next], axisOf(member), exact);
      if (is_covered) {
        known.push_back(axisOf(member));
      }
      return is_covered;
    });
  }
  return left;
}

}  // namespace

Promotion promotionOf(const std::vector<LoopMember>& members, const IdGraph& exact) {
  Promotion promotion;
  promotion.over = widestOf(members, exact);
  std::vector<LoopMember> left = notCovered(promotion.over, members, exact);
  // An axis of few sources may be the one that the others are made of.
  for (size_t i = 0; i < members.size() && !left.empty(); ++i) {
    std::vector<LoopMember> of_member = notCovered(axisOf(members[i]), members, exact);
    if (of_member.empty()) {
      promotion.over = axisOf(members[i]);
      left.clear();
    }
  }
  if (!left.empty()) {
    promotion.uncovered = left.front();
  }
  return promotion;
}

}  // namespace nvfuser
