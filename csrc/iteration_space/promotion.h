/// What a loop runs over that several tensors share: the axis of one of them that covers all
/// others.
///
///   T1[b0·i1] (ca 1)  and  T3[i0·i1]       one loop, over i0·i1
///   T1[i0] (ca 1)     and  T2[i1]          none: neither covers the other
///
/// An axis covers another one if a loop over it comes to each of the other's indices: what the
/// other was scheduled from is among what it was scheduled from, broadcast axes left out.
///
/// What it does not do: make an axis that no member has.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <id_model/id_graph.h>

namespace nvfuser {

/// A tensor, and a position in its loop domain.
using LoopMember = std::pair<const TensorView*, int>;

struct Promotion {
  const IterDomain* over = nullptr;
  std::optional<LoopMember> uncovered;  ///< the first that cannot share the loop
};

Promotion promotionOf(const std::vector<LoopMember>& members, const IdGraph& exact);

}  // namespace nvfuser
