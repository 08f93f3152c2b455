/// Cutting down a program that fails, as long as it fails in the same way.
#pragma once

#include <functional>

#include <fuzz/library/program.h>

namespace nvfuser::fuzz {

/// Smaller programs one step away, those that cut most first: an output less, a call replaced by
/// one of its operands or by a fresh input, smaller extents, plainer layouts and dtypes, fewer
/// steps of the schedule. They may be invalid.
std::vector<Program> smallerPrograms(const Program& program);

/// The smallest program found for which `fails` holds, as it does for `program`; asks at most
/// `attempts` times. `fails` must take invalid programs (and deny).
Program shrink(const Program& program, int64_t attempts,
               const std::function<bool(const Program&)>& fails);

}  // namespace nvfuser::fuzz
