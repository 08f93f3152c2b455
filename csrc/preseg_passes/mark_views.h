/// Pass `mark-views`: says which outputs are an input, or another result, with other sizes and
/// strides. A run then returns the same memory and launches nothing for them, if the strides at
/// hand allow it.
///
///   T1_g_float[iS2{i1}, iS1{i0}] = permute(T0_g_float[iS0{i0}, iS1{i1}])      a view of T0
///   T3_g_float[iS7rf{..}]        = reshape(T2_l_float[iS4{i0}, iS5{i1}])      a view of T2,
///                                                                    which is stored in its place
///
/// The graph stays as it is; the marks are data of the Fusion (`viewOutputs`).
///
/// A result that is no output becomes the source only of views that keep its elements in their
/// order and store no more than the output would. Left alone: copies (`set`), which were asked for;
/// outputs with an order in memory or a storage of their own; views of inputs that some output
/// overwrites.
#pragma once

#include <cstdint>
#include <vector>

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

/// Nodes by name: copies of the Fusion have the same.
struct ViewOutput {
  size_t output;                    ///< its position
  int64_t source;                   ///< name of the tensor whose memory it is
  std::vector<int64_t> operations;  ///< names of what leads from there to the output
};

void markViews(Fusion& fusion);

/// What `markViews` found; empty if it did not run.
const std::vector<ViewOutput>& viewOutputs(const Fusion& fusion);

}  // namespace nvfuser::preseg_passes
