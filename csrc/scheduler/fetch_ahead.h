/// Whether a kernel of the CPU asks for lines of memory before its loops get there
/// (device_lower/fetch_ahead.h): where what it reads and writes does not lie in a core's own
/// caches. Elsewhere each request would be an instruction for nothing.
#pragma once

#include <scheduler/runtime_info.h>

namespace nvfuser {

bool worthFetchingAhead(const Fusion& fusion, SchedulerRuntimeInfo& info);

}  // namespace nvfuser
