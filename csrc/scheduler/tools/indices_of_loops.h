/// What the index of an axis is, as a hash of its expression over the numbers of the tensor's
/// first loops, those that are shared. Two tensors walk through an axis alike if the hashes are
/// equal. Loops that are not shared, and what is made of those alone, are as good as any other.
///
///   loops of T[i0]: split(i0, 4) → (o, n)      i0 = L0·|n| + L1, |n| by its class
///   of which one is shared                     i0 = L0·|n| + own
#pragma once

#include <cstdint>
#include <unordered_map>

#include <id_model/id_graph.h>

namespace nvfuser {

class IndicesOfLoops {
 public:
  IndicesOfLoops(const TensorView* tv, const IdGraph& graph, int64_t num_shared);

  /// 0 for an axis that the loops do not lead to.
  uint64_t of(const Val* id) const;

 private:
  std::unordered_map<const Val*, uint64_t> known_;
};

}  // namespace nvfuser
