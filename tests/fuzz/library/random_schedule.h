/// A random schedule by hand: caches, memory types, splits, merges, reorders, rFactor, bindings,
/// inlining.
#pragma once

#include <string>

#include <fuzz/library/draw.h>
#include <ir/fusion.h>

namespace nvfuser::fuzz {

/// Schedules the fusion as a whole, by at most `steps` transforms. Steps that a primitive refuses
/// (`UserError`) are left out. Returns what was done, one step a line.
std::string scheduleRandomly(Fusion& fusion, uint64_t seed, int64_t steps);

}  // namespace nvfuser::fuzz
