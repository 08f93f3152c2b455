/// Carries out the plans of all schedulers of reductions and normalisations.
///
///   inner   T1[i0, r1]  →  [blockIdx.x i0/Y, threadIdx.y Y, (grid G,) serial, unrolled U,
///                           threadIdx.x, V]
///   outer   T1[r0, i1]  →  [blockIdx.x i1/(T·V), (grid G,) serial, unrolled U, threadIdx.y,
///                           threadIdx.x T, V]
///
/// An inner reduction whose rows lie in runs (3-D) has a serial loop over those around the others,
/// or over several at a time, unrolled innermost (unroll runs).
///
/// Rows held in registers have a constant number of batches in place of the serial and unrolled
/// loops, and as many threads as that takes. On the CPU a task does whole rows (columns), and a
/// row's reduction keeps V partial results, combined at its end. Where the serial loop is long, its
/// steps are cut into chunks, which are reduced apart (chunks.cpp).
#pragma once

#include <ir/fusion.h>
#include <scheduler/reduction/params.h>
#include <scheduler/registry.h>

namespace nvfuser::reduction {

/// The reduction that a plan has its loops from: of the tensor of that name, or, where it is an
/// output, of the copy that is now in front of it.
TensorView* referenceOf(const Fusion& fusion, int64_t name);
/// Of a plan whose form was tried: a `UserError` if its loops do not suit the Fusion.
void schedule(Fusion* fusion, const ReductionParams& params);
/// The same on a copy, which is left as it is where something refuses the loops: why.
std::optional<Refusal> trySchedule(Fusion* copy, const ReductionParams& params);

}  // namespace nvfuser::reduction
