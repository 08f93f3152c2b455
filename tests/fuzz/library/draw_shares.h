/// How devices share the tensors of a random program: a mesh of up to six devices, and for inputs,
/// outputs and some tensors in between which of their axes it cuts. Sizes are multiples of the
/// devices.
#pragma once

#include <fuzz/library/program.h>

namespace nvfuser::fuzz {

/// Fills `devices` and `shares`. A program that cannot be built is left as it is.
void drawShares(Program& program, uint64_t seed);

}  // namespace nvfuser::fuzz
