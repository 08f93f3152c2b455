/// Outputs whose parts are written by the kernels that compute them, each at its place in the
/// output's memory (preseg_passes/mark_joins.h): which of the marked ones can be in this call, and
/// the Fusion that is left to be computed.
///
///   marked    T20[n, 2·m] = cat(T9[n, m], T12[n, m])           stored whole by a kernel of its own
///   planned   T9 and T12 are outputs that reuse the storage of two further inputs, which a call
///             gives: parts of the memory that it returns as T20
///
/// So the rules for outputs that update inputs hold for parts, too (in_place.h); but nobody has
/// seen this memory yet, and it may be written whatever happens afterwards.
#pragma once

#include <vector>

#include <evaluator/expression_evaluator.h>
#include <ir/fusion.h>
#include <runtime/executor_kernel_arg.h>
#include <runtime/run_context.h>
#include <scheduler/analysis/view_layout.h>
#include <support/device_properties.h>

namespace nvfuser {

struct PlannedJoin {
  const TensorView* output;
  ViewLayout layout;  ///< of all its memory
  struct Part {
    const TensorView* tensor;
    ViewLayout place;  ///< in it
    bool lacks_axis;   ///< the joined one
  };
  std::vector<Part> parts;
  size_t axis;
};

/// Marked joins whose parts are rows of at least a line of a cache, on a GPU of whole vectors, or
/// long and behind each other.
/// Those of parts that share nothing (JoinGain::OwnLoops) only on the CPU, where the kernel that
/// joins them would compute all for each element; those of turned parts (OwnTiles) only on a GPU.
/// `evaluator` knows the sizes of this call.
std::vector<PlannedJoin> planJoins(const Fusion& fusion, DeviceKind device,
                                   ExpressionEvaluator& evaluator);

/// Makes the parts of `join` outputs of `fusion`, which is a copy of the one that it was planned
/// for, with inputs whose storage they reuse, and takes its output away. Returns the output, which
/// nothing computes now, as a value to name its memory by.
const TensorView* storeParts(Fusion& fusion, const PlannedJoin& join);

/// Memory of a call for the output, and behind it the places of its parts.
KernelArgumentHolder memoryOf(const PlannedJoin& join, Device& device, const RunContext& context);

}  // namespace nvfuser
