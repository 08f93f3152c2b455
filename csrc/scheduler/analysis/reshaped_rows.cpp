#include <scheduler/analysis/reshaped_rows.h>

#include <algorithm>
#include <map>
#include <vector>

#include <ir/axis_map.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

/// Axes in front of a reshape, each by an axis of what it reads.
using Places = std::map<const IterDomain*, const IterDomain*>;

/// The root axes of a reshape's result that its logical ones of `classes` are made of.
std::set<IterDomain*> rootsOf(const TensorView* out, const IdGraph& permissive,
                              const std::set<int>& classes) {
  const std::vector<IterDomain*>& root = out->getMaybeRootDomain();
  std::set<IterDomain*> found;
  std::set<const Val*> seen;
  std::vector<Val*> open;
  for (IterDomain* id : out->getLogicalDomain()) {
    if (!id->isBroadcast() && classes.count(permissive.classOf(id)) != 0) {
      open.push_back(id);
    }
  }
  while (!open.empty()) {
    Val* id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) {
      continue;
    }
    if (std::find(root.begin(), root.end(), id) != root.end()) {
      found.insert(id->as<IterDomain>());
    } else if (id->definition() != nullptr) {
      const std::vector<Val*>& made_of = id->definition()->inputs();
      open.insert(open.end(), made_of.begin(), made_of.end());
    }
  }
  return found;
}

/// Whether an input has all of these axes, and each tensor in front of the reshape has each of its
/// own along one of them alone.
bool areRowsOfInput(const Expr* reshape, const std::set<IterDomain*>& roots) {
  std::map<const TensorView*, Places> places;
  const auto* out = reshape->output(0)->as<TensorView>();
  for (IterDomain* root : roots) {
    places[out][root] = root;
  }
  std::vector<const TensorView*> open{out};
  bool is_read = false;
  while (!open.empty()) {
    const TensorView* consumer = open.back();
    open.pop_back();
    for (const TensorView* producer : producersOf(consumer)) {
      Places of;
      for (const auto& [before, behind] : mapAxes(consumer->definition(), producer, consumer)) {
        const auto known = places[consumer].find(behind);
        if (known != places[consumer].end() && !before->isBroadcast()) {
          of[before] = known->second;
        }
      }
      if (of.empty()) {
        continue;
      }
      const auto [met, is_new] = places.emplace(producer, of);
      if (!is_new && met->second != of) {
        return false;
      }
      is_read = is_read || (producer->isFusionInput() && of.size() == roots.size());
      if (is_new && producer->definition() != nullptr &&
          !producer->definition()->isA<ReshapeOp>()) {
        open.push_back(producer);
      }
    }
  }
  return is_read;
}

}  // namespace

std::set<int> axesInFrontOfRows(const Fusion& fusion, const IdGraph& permissive,
                                const std::set<int>& reduced) {
  std::set<int> in_front;
  std::set<int> classes = reduced;
  const std::vector<Expr*> exprs = fusion.exprs();
  for (auto expr = exprs.rbegin(); expr != exprs.rend(); ++expr) {
    if (!(*expr)->isA<ReshapeOp>()) {
      continue;
    }
    const std::set<IterDomain*> roots =
        rootsOf((*expr)->output(0)->as<TensorView>(), permissive, classes);
    if (!roots.empty() && !areRowsOfInput(*expr, roots)) {
      return {};
    }
    for (const IterDomain* root : roots) {
      classes.insert(permissive.classOf(root));
      in_front.insert(permissive.classOf(root));
    }
  }
  return in_front;
}

}  // namespace nvfuser
