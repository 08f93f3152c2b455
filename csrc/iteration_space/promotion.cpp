#include <iteration_space/promotion.h>

#include <algorithm>
#include <set>
#include <unordered_set>

namespace nvfuser {

namespace {

/// Classes of the axes that `id` was scheduled from: those of its tensor's logical domain, or, with
/// `to_root`, of its root. Broadcast axes are left out.
std::set<int> concreteSources(const IterDomain* id, const IdGraph& exact, bool to_root) {
  const auto& logical = exact.tensorOf(id)->getLogicalDomain();
  std::set<int> sources;
  std::vector<const IterDomain*> open{id};
  std::unordered_set<const IterDomain*> seen;
  while (!open.empty()) {
    const IterDomain* axis = open.back();
    open.pop_back();
    if (!seen.insert(axis).second) {
      continue;
    }
    const Expr* def = axis->definition();
    const bool stop = !to_root && std::find(logical.begin(), logical.end(), axis) != logical.end();
    if (def != nullptr && !stop) {
      for (const Val* in : def->inputs()) {
        open.push_back(in->as<IterDomain>());
      }
    } else if (!axis->isBroadcast()) {
      sources.insert(exact.classOf(axis));
    }
  }
  return sources;
}

/// Classes that loops over `axes` visit completely: what those axes are made of, and what is made
/// of them, in any tensor. A split is undone only where both of its parts are there.
///
///   y[i1] = reshape(x[i3, i4])       {i0, i1}  →  {i0, i1, i3, i4, …}
std::set<int> visited(std::set<int> axes, const IdGraph& exact) {
  std::vector<int> open(axes.begin(), axes.end());
  const auto add = [&](const std::vector<Val*>& ids) {
    for (const Val* id : ids) {
      const int id_class = exact.classOf(id->as<IterDomain>());
      if (axes.insert(id_class).second) {
        open.push_back(id_class);
      }
    }
  };
  const auto hasAll = [&](const std::vector<Val*>& ids) {
    return std::all_of(ids.begin(), ids.end(), [&](const Val* id) {
      return axes.count(exact.classOf(id->as<IterDomain>())) != 0;
    });
  };
  while (!open.empty()) {
    const int id_class = open.back();
    open.pop_back();
    for (const Expr* made : exact.definitions(id_class)) {
      if (!made->isA<Resize>() && hasAll(made->outputs())) {
        add(made->inputs());
      }
    }
    for (const Expr* use : exact.uses(id_class)) {
      if (!use->isA<Resize>() && hasAll(use->inputs())) {
        add(use->outputs());
      }
    }
  }
  return axes;
}

/// Whether an axis is of these classes, or scheduled from axes that are. It may be a part of its
/// logical axes: the rows of a reshape whose columns have other loops.
bool isMadeOf(const IterDomain* id, const std::set<int>& classes, const IdGraph& exact) {
  const auto& logical = exact.tensorOf(id)->getLogicalDomain();
  std::vector<const IterDomain*> open{id};
  std::unordered_set<const IterDomain*> seen;
  while (!open.empty()) {
    const IterDomain* axis = open.back();
    open.pop_back();
    if (!seen.insert(axis).second || axis->isBroadcast() ||
        classes.count(exact.classOf(axis)) != 0) {
      continue;
    }
    const bool is_logical = std::find(logical.begin(), logical.end(), axis) != logical.end();
    if (is_logical || axis->definition() == nullptr) {
      return false;
    }
    for (const Val* in : axis->definition()->inputs()) {
      open.push_back(in->as<IterDomain>());
    }
  }
  return true;
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
  return isMadeOf(id, visited(concreteSources(wide, exact, false), exact), exact);
}

const IterDomain* axisOf(const LoopMember& member) {
  return member.first->getLoopDomain()[static_cast<size_t>(member.second)];
}

/// The axis with most sources; among equals, one that is not broadcast.
const IterDomain* widestOf(const std::vector<LoopMember>& members, const IdGraph& exact) {
  const IterDomain* widest = nullptr;
  size_t most = 0;
  for (const LoopMember& member : members) {
    const IterDomain* id = axisOf(member);
    const size_t sources = concreteSources(id, exact, false).size();
    if (widest == nullptr || sources > most ||
        (sources == most && widest->isBroadcast() && !id->isBroadcast())) {
      widest = id;
      most = sources;
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
