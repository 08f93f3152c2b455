/// What the caller of an execution brings along, in C++.
#pragma once

#include <capi/nvfuser_c.h>
#include <runtime/run_context.h>

namespace nvfuser::capi {

/// `given` may be null. Without `with_memory` the caller's allocator is left out, for runs that
/// allocate nothing.
RunContext contextOf(const nvf_run_context* given, bool with_memory = true);

}  // namespace nvfuser::capi
