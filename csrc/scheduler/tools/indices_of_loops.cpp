#include <scheduler/tools/indices_of_loops.h>

#include <algorithm>
#include <initializer_list>

#include <ir/fusion.h>
#include <ir/interface_nodes.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

constexpr uint64_t kOwn = 1;

uint64_t classOf(const Val* id, const IdGraph& graph) {
  return static_cast<uint64_t>(graph.classOf(id->as<IterDomain>())) + 1;
}

uint64_t mix(std::initializer_list<uint64_t> parts) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (uint64_t part : parts) {
    hash = (hash ^ (part + 1)) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 31;
  }
  return hash;
}

}  // namespace

IndicesOfLoops::IndicesOfLoops(const TensorView* tv, const IdGraph& graph, int64_t num_shared) {
  std::unordered_map<int, std::vector<const IterDomain*>> by_class;
  for (const IterDomain* id : tv->domain()->allIDs()) {
    if (!id->isBroadcast()) {
      by_class[graph.classOf(id)].push_back(id);
    }
  }
  // Axes of one class are at one index, as what a reshape merged and the schedule split again.
  const auto note = [&](const Val* id, uint64_t index) {
    if (!known_.emplace(id, index).second || id->as<IterDomain>()->isBroadcast()) {
      return;
    }
    for (const IterDomain* same : by_class[graph.classOf(id->as<IterDomain>())]) {
      known_.emplace(same, index);
    }
  };
  const auto& loop = tv->getLoopDomain();
  for (size_t i = 0; i < loop.size(); ++i) {
    note(loop[i], static_cast<int64_t>(i) < num_shared ? mix({i}) : kOwn);
  }
  const std::vector<Expr*> transforms = tv->domain()->allExprs();
  for (auto it = transforms.rbegin(); it != transforms.rend(); ++it) {
    const auto& ins = (*it)->inputs();
    const auto& outs = (*it)->outputs();
    const auto kind = static_cast<uint64_t>((*it)->kind());
    const bool is_own =
        std::all_of(outs.begin(), outs.end(), [&](const Val* out) { return of(out) == kOwn; });
    for (size_t i = 0; i < ins.size(); ++i) {
      if (!ins[i]->isA<IterDomain>()) {
        continue;
      }
      // Extents and attributes are those of the classes.
      uint64_t made = mix({kind, i});
      for (const auto& ids : {ins, outs}) {
        for (const Val* id : ids) {
          made = id->isA<IterDomain>() ? mix({made, classOf(id, graph)}) : made;
        }
      }
      for (const Val* out : outs) {
        made = mix({made, of(out)});
      }
      note(ins[i], is_own ? kOwn : made);
    }
  }
}

uint64_t IndicesOfLoops::of(const Val* id) const {
  auto found = known_.find(id);
  return found == known_.end() ? 0 : found->second;
}

}  // namespace nvfuser
