/// Best-first merging of groups: producers with consumers, and groups that read the same tensor.
///
/// A merge gains the bytes that no longer cross memory and a launch, and costs what is computed
/// again where a small tensor is computed in the loops of a larger one, and the memory that two
/// groups beside each other hold at once, where one's tensors could be read and given back before
/// the other runs. Each pair is tried when it is first due and again, a bounded number of times,
/// after its groups have grown.
#pragma once

#include <functional>

#include <segmenter/group_graph.h>

namespace nvfuser {

/// Launches of one kernel that are worth a table of arguments (runtime/launch_groups.h).
inline constexpr size_t kLeastAlike = 6;

/// Operations that are done again where a tensor of `elements`, `work` in all, is computed at each
/// of `at` elements; `hidden` of them for each take no time.
double repeatedWork(double work, int64_t elements, int64_t at, double hidden);

/// What merging is worth on a device, in bytes that could be moved meanwhile, and how large a
/// kernel may become.
struct MergeCosts {
  double bytes_per_launch;  ///< moved in the time that a launch takes
  double work_per_byte;     ///< floating-point operations in the time of a byte
  double bytes_per_held;    ///< that a byte is worth which is in memory for longer
  size_t most_borders;      ///< tensors read and stored: a launch has few bytes for parameters
  size_t most_weight;       ///< of units together: compilation time and registers
  size_t most_replayed;     ///< units times transforms of reshapes: what scheduling takes
  size_t least_alike;       ///< kernels of one form that are one launch; 0: each is one of its own
  double hidden_work;       ///< operations an element that take no time beside what is read
  bool repeats_parts;       ///< kernels compute all parts of a join at each of its elements
  static MergeCosts of(DeviceKind device);
};

/// Whether the union can be one kernel; asked for unions that are worth it and within the limits,
/// before the cycle check.
using AcceptsUnion = std::function<bool(int a, int b, const GroupGraph::Union&)>;

/// Merges until nothing can be gained. Returns the number of pairs that were looked at.
int64_t mergeGroups(const FusionTraits& traits, GroupGraph& graph, const MergeCosts& costs,
                    const AcceptsUnion& accepts);

/// Whether the traits of a union are those of one kernel of a known family: element-wise (all
/// stored tensors have one space), or reductions of one signature with element-wise operations
/// around (stored tensors have the reductions' space, or that of their results).
bool looksLikeOneKernel(const GroupGraph::Node& a, const GroupGraph::Node& b,
                        const GroupGraph::Union& both);

}  // namespace nvfuser
