/// Cuts a Fusion into groups, each of which some scheduler takes as one kernel.
///
///   the whole?  → merge operations by what their traits promise   (merge_groups.h)
///               → ask the schedulers; what nobody takes is cut in two, and so on  (cut_part.h)
///               → merge neighbours that the schedulers take together all the same
///               → compute cheap things again instead of storing them  (recompute.h)
///
/// Time grows near-linearly with the number of operations: each pair of groups is looked at a
/// bounded number of times, each form of group is asked about once, and asking has a budget. The
/// result depends on the Fusion and the answers alone.
#pragma once

#include <vector>

#include <segmenter/questions.h>

namespace nvfuser {

/// How much work cutting was.
struct SegmentCounts {
  int64_t operations = 0;
  int64_t pairs = 0;       ///< of groups that were looked at
  int64_t walked = 0;      ///< groups and readers met in checks for cycles
  int64_t questions = 0;   ///< put to the schedulers
  int64_t questioned = 0;  ///< operations in all groups that they were asked about
};

/// In an order in which they can run. Single operations are not asked about. An operation may be in
/// several groups.
std::vector<Group> segmentFusion(const Fusion& fusion, const SegmentCall& call,
                                 const TakesGroup& takes, SegmentCounts* counts = nullptr);

}  // namespace nvfuser
