/// What is computed before it is joined or stretched, in another kernel, on the CPU.
///
/// A loop over a join's elements computes all parts at each of them, and keeps one. For halves of a
/// rotary embedding that is less than storing them. The twelve steps of a recurrent cell, each of
/// which needs those before, would be computed twelve times: there the parts are stored, and the
/// join copies them. So is one new row that is joined to a cache of many.
///
/// What is stretched along an axis between others, as one query for all rows of its cache, would be
/// computed for each row. So is what is stretched along an outer axis, as places of pixels for all
/// channels, if it has many elements. (Along inner axes it is computed outside of their loops; of
/// few elements it is held: scheduler/analysis/column_values.h. What follows a reduction is
/// computed once for each of its results, in their kernel: a norm's factors stay with it.)
///
/// What is read through windows, as by a pool of nine places, is computed in each: a sigmoid nine
/// times, where storing it is two accesses. What is read at an index is computed for each read.
#pragma once

#include <set>
#include <vector>

#include <segmenter/merge_groups.h>

namespace nvfuser {

class CostlyRepeats {
 public:
  CostlyRepeats(const FusionTraits& traits, const MergeCosts& costs);

  bool empty() const { return repeats_.empty(); }

  /// Whether a kernel of both would compute something again that is better stored.
  bool keepApart(const std::vector<int>& a, const std::vector<int>& b) const;

 private:
  struct Repeat {
    int reader;                ///< unit at whose elements it would be computed
    std::vector<int> made_of;  ///< units, ascending
  };
  void findParts(const FusionTraits& traits, const MergeCosts& costs, int join);
  void findStretched(const FusionTraits& traits, const MergeCosts& costs, int stretch);
  void findWindows(const FusionTraits& traits, const MergeCosts& costs, int source);

  std::vector<Repeat> repeats_;
  std::set<int> stored_;  ///< tensors that later units therefore need not compute again
};

}  // namespace nvfuser
