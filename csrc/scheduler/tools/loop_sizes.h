/// What loops iterate over: for the class (permissive) of each axis that a loop comes from, a
/// number for its size. Equal numbers are the same axis in the exact graph: two axes that only
/// happen to be of one size have an index each.
///
///   T1[b0, i1] + T2[i2, i1]      the loop over b0 says nothing, the one over i2 {class of i2: 0}
///
/// Without any broadcast both graphs are one, and nothing can disagree.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include <id_model/id_graph.h>
#include <scheduler/tools/loop_groups.h>

namespace nvfuser {

class LoopSizes {
 public:
  LoopSizes(const Fusion& fusion, const IdGraph& permissive);

  /// Of each loop of a tensor; none where nothing can disagree.
  std::vector<LoopGroups::Sizes> of(const TensorView* tv);
  /// The first axis with that number.
  const IterDomain* axisOf(int size) const { return axes_[static_cast<size_t>(size)]; }

 private:
  int numberOf(IterDomain* id);

  const IdGraph& permissive_;
  std::optional<IdGraph> exact_;
  std::vector<const IterDomain*> axes_;
  std::unordered_map<int, std::vector<int>> by_class_;
};

}  // namespace nvfuser
