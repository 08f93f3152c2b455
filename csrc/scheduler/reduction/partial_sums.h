/// Long sums cut into partial ones (rFactor), once all tensors have the loops of a plan.
///
///   on the CPU    T1[i0, rSteps, rV]      →  T2[i0, rSteps, iV], T1[i0, rV]
///   in chunks     T1[i0, rChunks, rSteps] →  T2[i0, iChunks, rSteps], T1[i0, rChunks]
///
/// V partial results need not wait for each other, and sums of many elements one by one lose
/// digits. Which loops there are, the plan says (loops.h); it also says how long a chunk is.
#pragma once

#include <optional>
#include <vector>

#include <ir/fusion.h>
#include <scheduler/reduction/params.h>
#include <scheduler/registry.h>

namespace nvfuser::reduction {

/// Positions of the loops that a tensor reduces over.
std::vector<int64_t> reductionLoops(const TensorView* tv);

/// All reductions of the Fusion. Why one that has other loops than the reference cannot be cut;
/// nothing if all is done.
std::optional<Refusal> keepPartialSums(Fusion* fusion, const ReductionParams& params);

}  // namespace nvfuser::reduction
