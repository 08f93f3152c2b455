#include <scheduler/tools/maxinfo_propagator.h>

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <unordered_map>

#include <id_model/axes_before.h>
#include <ir/axis_map.h>
#include <ir/fusion.h>
#include <ir/internal_nodes.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

namespace {

/// What one axis tells about the reference: which of its axes (by number), and whether all of each.
struct AxisInfo {
  std::set<int> sources;
  bool is_complete = true;
};
/// By axis of one tensor's logical (or root) domain; axes that tell nothing are absent.
using TensorInfo = std::unordered_map<const IterDomain*, AxisInfo>;

/// More complete axes first, then more axes, then a hop that no axis ends at: loops that were made
/// of an axis and others cannot be replayed without it. Broadcast ones decide between equals alone:
/// a replay makes up what a tensor lacks of them.
struct Score {
  int complete = 0;
  int any = 0;
  int not_ended = 0;  ///< less one for each
  int complete_broadcasts = 0;
  int any_broadcasts = 0;
  friend auto operator<=>(const Score&, const Score&) = default;
};

/// `axes`: the reference's.
Score scoreOf(const TensorInfo& info, const std::vector<IterDomain*>& axes) {
  std::set<int> complete;
  std::set<int> any;
  for (const auto& [axis, what] : info) {
    any.insert(what.sources.begin(), what.sources.end());
    if (what.is_complete) {
      complete.insert(what.sources.begin(), what.sources.end());
    }
  }
  Score score;
  for (int axis : any) {
    const bool broadcast = axes[static_cast<size_t>(axis)]->isBroadcast();
    const int is_complete = complete.count(axis) != 0 ? 1 : 0;
    (broadcast ? score.any_broadcasts : score.any) += 1;
    (broadcast ? score.complete_broadcasts : score.complete) += is_complete;
  }
  return score;
}

/// Joins what several axes tell, from one side of a transform to each axis on its other side.
void across(const std::vector<Val*>& from, const std::vector<Val*>& to, TensorInfo& info) {
  AxisInfo all;
  for (const Val* val : from) {
    auto found = info.find(val->as<IterDomain>());
    if (found == info.end()) {
      all.is_complete = false;
      continue;
    }
    all.sources.insert(found->second.sources.begin(), found->second.sources.end());
    all.is_complete &= found->second.is_complete;
  }
  if (all.sources.empty()) {
    return;
  }
  for (const Val* val : to) {
    info.emplace(val->as<IterDomain>(), all);
  }
}

std::vector<Expr*> operationTransforms(const TensorView* tv) {
  if (!tv->hasRoot()) {
    return {};
  }
  return transformsBefore(tv->getLogicalDomain(), tv->getRootDomain());
}

class Growth {
 public:
  Growth(TensorView* reference, int64_t pos, bool through_resize)
      : through_resize_(through_resize) {
    TensorInfo& info = infos_[reference];
    const auto& loop = reference->getLoopDomain();
    const std::vector<IterDomain*> ends(loop.begin(), loop.begin() + pos);
    const auto& logical = reference->getLogicalDomain();
    std::set<const Val*> reached(ends.begin(), ends.end());
    for (Expr* expr : transformsBefore(ends, logical)) {
      reached.insert(expr->inputs().begin(), expr->inputs().end());
    }
    for (size_t i = 0; i < logical.size(); ++i) {
      if (reached.count(logical[i]) != 0) {
        info[logical[i]] = {{static_cast<int>(i)}, true};
      }
    }
  }

  TensorInfo toProducer(const TensorView* consumer, const TensorView* producer) const {
    TensorInfo info = infos_.at(consumer);
    std::vector<Expr*> transforms = operationTransforms(consumer);
    for (auto expr = transforms.rbegin(); expr != transforms.rend(); ++expr) {
      if (through_resize_ || !(*expr)->isA<Resize>()) {
        across((*expr)->outputs(), (*expr)->inputs(), info);
      }
    }
    TensorInfo result;
    for (auto [p, c] : mapAxes(consumer->definition(), producer, consumer)) {
      move(info, c, result, p);
    }
    return result;
  }

  TensorInfo toConsumer(const TensorView* producer, const TensorView* consumer) const {
    TensorInfo info;
    for (auto [p, c] : mapAxes(consumer->definition(), producer, consumer)) {
      move(infos_.at(producer), p, info, c);
    }
    for (Expr* expr : operationTransforms(consumer)) {
      if (through_resize_ || !expr->isA<Resize>()) {
        across(expr->inputs(), expr->outputs(), info);
      }
    }
    TensorInfo result;
    for (IterDomain* id : consumer->getLogicalDomain()) {
      move(info, id, result, id);
    }
    return result;
  }

  TensorInfo toSibling(const TensorView* from, const TensorView* to) const {
    TensorInfo result;
    const auto& axes = from->getLogicalDomain();
    for (size_t i = 0; i < axes.size() && i < to->getLogicalDomain().size(); ++i) {
      move(infos_.at(from), axes[i], result, to->getLogicalDomain()[i]);
    }
    return result;
  }

  void reach(const TensorView* tv, TensorInfo info) { infos_[tv] = std::move(info); }
  bool isReached(const TensorView* tv) const { return infos_.count(tv) != 0; }

  /// Axes of `from`, such as the one that a select takes an element of, that `info` of its
  /// neighbour tells nothing about.
  int ended(const TensorView* from, const TensorInfo& info) const {
    std::set<int> kept;
    for (const auto& [axis, what] : info) {
      kept.insert(what.sources.begin(), what.sources.end());
    }
    int count = 0;
    for (const auto& [axis, what] : infos_.at(from)) {
      count += !axis->isBroadcast() && !axis->isReduction() &&
                       std::none_of(what.sources.begin(), what.sources.end(),
                                    [&](int source) { return kept.count(source); })
                   ? 1
                   : 0;
    }
    return count;
  }

 private:
  static void move(const TensorInfo& from, const IterDomain* a, TensorInfo& to,
                   const IterDomain* b) {
    auto found = from.find(a);
    if (found != from.end()) {
      to[b] = found->second;
    }
  }

  const bool through_resize_;
  std::unordered_map<const TensorView*, TensorInfo> infos_;
};

}  // namespace

void MaxInfoSpanningTree::traverse(Propagator* propagator) {
  if (!is_grown_) {
    path_ = grow();
    is_grown_ = true;
  }
  propagator->setUp();
  for (const Hop& hop : path_) {
    switch (hop.edge) {
      case Edge::Sibling:
        propagator->propagateSibling(hop.from, hop.to);
        break;
      case Edge::ConsumerToProducer:
        propagator->propagateC2P(hop.from, hop.to);
        break;
      case Edge::ProducerToConsumer:
        propagator->propagateP2C(hop.from, hop.to);
        break;
    }
  }
  propagator->tearDown();
}

MaxLogicalDomainInfoSpanningTree::MaxLogicalDomainInfoSpanningTree(TensorView* reference,
                                                                   Selector* selector,
                                                                   bool propagate_through_resize)
    : MaxLogicalDomainInfoSpanningTree(reference, -1, selector, propagate_through_resize) {}

MaxLogicalDomainInfoSpanningTree::MaxLogicalDomainInfoSpanningTree(TensorView* reference,
                                                                   int64_t reference_pos,
                                                                   Selector* selector,
                                                                   bool propagate_through_resize)
    : reference_(reference),
      reference_pos_(requirePosition("propagate", reference, reference_pos)),
      selector_(selector),
      through_resize_(propagate_through_resize) {}

std::vector<MaxInfoSpanningTree::Hop> MaxLogicalDomainInfoSpanningTree::grow() const {
  std::unordered_map<const TensorView*, std::vector<TensorView*>> consumers;
  for (Expr* expr : reference_->fusion()->exprs()) {
    for (TensorView* in : tensorInputs(expr)) {
      for (TensorView* out : tensorOutputs(expr)) {
        consumers[in].push_back(out);
      }
    }
  }
  Growth growth(reference_, reference_pos_, through_resize_);

  struct Candidate {
    Hop hop;
    TensorInfo info;
  };
  // Best score first; among equals the one found first.
  std::map<std::pair<Score, int>, Candidate> open;
  int found = 0;
  auto offer = [&](Hop hop, TensorInfo info) {
    if (!info.empty()) {
      Score score = scoreOf(info, reference_->getLogicalDomain());  // before the move
      score.not_ended = -growth.ended(hop.from, info);
      open.emplace(std::pair(score, --found), Candidate{hop, std::move(info)});
    }
  };
  auto offerNeighbours = [&](TensorView* from) {
    for (TensorView* to : producersOf(from)) {
      if (growth.isReached(to) || (selector_ && !selector_->allowC2P(from, to))) {
        continue;
      }
      offer({from, to, Edge::ConsumerToProducer}, growth.toProducer(from, to));
    }
    for (TensorView* to : consumers[from]) {
      if (growth.isReached(to) || (selector_ && !selector_->allowP2C(from, to))) {
        continue;
      }
      offer({from, to, Edge::ProducerToConsumer}, growth.toConsumer(from, to));
    }
  };

  std::vector<Hop> path;
  // Outputs of one expression run in the same loops, so what reaches one goes on to the others at
  // once.
  auto spread = [&](TensorView* from) {
    offerNeighbours(from);
    for (TensorView* to : siblingsOf(from)) {
      if (growth.isReached(to) || (selector_ && !selector_->allowSibling(from, to))) {
        continue;
      }
      growth.reach(to, growth.toSibling(from, to));
      path.push_back({from, to, Edge::Sibling});
      offerNeighbours(to);
    }
  };
  spread(reference_);
  while (!open.empty()) {
    auto best = std::prev(open.end());
    Candidate next = std::move(best->second);
    open.erase(best);
    if (growth.isReached(next.hop.to)) {
      continue;
    }
    growth.reach(next.hop.to, std::move(next.info));
    path.push_back(next.hop);
    spread(next.hop.to);
  }
  return path;
}

}  // namespace nvfuser
