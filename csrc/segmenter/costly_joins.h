/// Joins whose parts are computed before them, in another kernel, on the CPU.
///
/// A loop over a join's elements computes all parts at each of them, and keeps one. For halves of a
/// rotary embedding that is less than storing them. The twelve steps of a recurrent cell, each of
/// which needs those before, would be computed twelve times: there the parts are stored, and the
/// join copies them.
#pragma once

#include <vector>

#include <segmenter/merge_groups.h>

namespace nvfuser {

class CostlyJoins {
 public:
  CostlyJoins(const FusionTraits& traits, const MergeCosts& costs);

  bool empty() const { return joins_.empty(); }

  /// Whether a kernel of both would compute the parts of one of these at its elements.
  bool keepApart(const std::vector<int>& a, const std::vector<int>& b) const;

 private:
  struct Join {
    int unit;
    std::vector<int> made_of;  ///< units, ascending
  };
  std::vector<Join> joins_;
};

}  // namespace nvfuser
