/// The loops of a reduction's plan, as a list of steps (scheduler/loop_steps.h): schedule.h draws
/// what comes out.
#pragma once

#include <vector>

#include <scheduler/loop_steps.h>
#include <scheduler/reduction/params.h>

namespace nvfuser::reduction {

/// Elements that the CPU's last step of a reduction combines one by one.
inline constexpr int64_t kLanes = 16;

/// Which logical axes of a reduction's result are reduced.
std::vector<bool> reducedAxes(const TensorView* reference);

/// Loops bound to Unswitch have one turn, "whole": a step is done without conditions if all of it
/// exists.
/// `reduced`: of the reference's logical axes.
LoopSteps loopsOf(const ReductionParams& params, const std::vector<bool>& reduced);

}  // namespace nvfuser::reduction
