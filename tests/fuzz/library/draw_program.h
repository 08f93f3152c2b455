/// Random programs: operations from the table of operations, shapes, strides and dtypes, valid by
/// construction as far as shapes go.
#pragma once

#include <fuzz/library/program.h>

namespace nvfuser::fuzz {

/// The same program for the same seed. A call that the front end breaks on (`InternalError`) ends
/// the program and is its output, so that building it breaks again.
Program drawProgram(uint64_t seed);

}  // namespace nvfuser::fuzz
