/// Pass `mark-joins`: says which outputs are joins whose parts are best stored by what computes
/// them, each at its place in the output's memory. A run then launches no kernel for the join.
///
///   T9[n, m]   = f(T0)                          T9, T12, … are stored where T20 has them
///   T12[n, m]  = f(T9)                     →
///   T20[n, k·m] = cat(T9, T12, …, dim = 1)
///
/// A kernel that joins computes each part apart from the others: steps of a recurrence would be
/// computed again for each later step, and what is reduced would be stored first, then read to be
/// stored again.
///
/// Marked are joins of equal parts that share most of their operations, and joins of many parts
/// that are joins themselves (no kernel has them all); joins at least half of whose parts are made
/// of a reduction that no other part is made of (halves of a row that was normalised are not: its
/// kernel joins them). Joins of three and more parts that share nothing are marked, too, for the
/// CPU alone: its loops along another axis than the joined one compute all parts for each element.
/// For GPUs alone, joins of which some parts are turned and others not, `cat(T0, transpose(T0))`:
/// no thread reads both well.
/// The graph stays as it is; the marks are data of the Fusion (`joinedOutputs`).
///
/// Left alone: outputs that reuse an input's storage or that the fusion reads itself; fusions over
/// several devices. Whether parts are rows long enough, a call decides (runtime/joined_outputs.h).
#pragma once

#include <cstdint>
#include <vector>

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

/// What is gained where a join's parts are stored by what computes them.
enum class JoinGain {
  SharedWork,  ///< what parts share, or what a reduction of theirs reads, is computed once
  OwnLoops,    ///< each part is computed in a loop that computes no other
  OwnTiles,    ///< on a GPU, parts that are turned are stored by what reads them turned
};

/// Nodes by name: copies of the Fusion have the same.
struct JoinedOutput {
  struct Part {
    int64_t tensor;
    bool lacks_axis = false;  ///< it has one place along the joined axis, which it lacks
  };
  int64_t output;  ///< the tensor that has all parts
  size_t axis;     ///< of its axes
  JoinGain gain;
  std::vector<Part> parts;  ///< in order
};

void markJoins(Fusion& fusion);

/// What `markJoins` found; empty if it did not run.
const std::vector<JoinedOutput>& joinedOutputs(const Fusion& fusion);

}  // namespace nvfuser::preseg_passes
