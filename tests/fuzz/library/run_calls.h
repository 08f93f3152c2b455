/// Runs a program whose sizes vary: its calls one after the other through one FusionExecutorCache
/// on each device, twice (cold and warm), then in the opposite order through a fresh one.
///
/// A call that PyTorch would refuse must be a `UserError`, and what comes behind it right all the
/// same. One whose inputs do not lie as they are declared may be refused, or right.
#pragma once

#include <fuzz/library/run_programs.h>

namespace nvfuser::fuzz {

/// Told before each stage: "define", "reference", "calls cpu", "calls emulated".
Outcome runCalls(const Program& program, const RunOptions& options,
                 const std::function<void(std::string_view stage)>& progress);

}  // namespace nvfuser::fuzz
