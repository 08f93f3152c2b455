/// Where the loops of a kernel came from: the axes of its tensors, through the splits and merges of
/// the schedule.
#pragma once

#include <vector>

#include <runtime/compiled_kernel.h>
#include <runtime/fusion_description.h>

namespace nvfuser {

/// The dimensions of the launch first, then the loops as they open in the text, each comment once.
std::vector<LoopDescription> loopOrigins(const CompiledKernel& kernel);

}  // namespace nvfuser
