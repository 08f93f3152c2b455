/// Runs a program for several devices: one thread a device, each with its own parts of the inputs,
/// twice (planned, and known). Every device's part of each output is compared with what the
/// interpreter computes on whole tensors.
#pragma once

#include <functional>
#include <string_view>

#include <fuzz/library/run_programs.h>

namespace nvfuser::fuzz {

/// Told before each stage: "define", "reference", "devices cpu", "devices emulated".
Outcome runOnDevices(const Program& program, const RunOptions& options,
                     const std::function<void(std::string_view stage)>& progress);

}  // namespace nvfuser::fuzz
