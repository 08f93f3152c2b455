/// A group as a Fusion of its own, for a scheduler to look at and for a kernel to be made of.
///
///   whole:  T1 = exp(T0); T2 = sum(T1); T3 = T1 / T2        group {T3 = T1 / T2}
///   alone:  inputs T1, T2 (dense, without their reductions and history);  T3 = T1 / T2;  output T3
///
/// What no other group reads stays within the kernel: it loses its order in memory
/// (preseg_passes/memory_order.h). All names stay what they are in the whole Fusion, so sizes known
/// there are known here by name.
#pragma once

#include <memory>
#include <vector>

#include <segmenter/group.h>

namespace nvfuser {

struct ExtractedGroup {
  std::unique_ptr<Fusion> fusion;
  /// Values of the whole fusion, in the order of `fusion`'s inputs and outputs. Scalars come first.
  std::vector<const Val*> inputs;
  std::vector<const Val*> outputs;
};

ExtractedGroup extractGroup(const Fusion& whole, const Group& group);

}  // namespace nvfuser
