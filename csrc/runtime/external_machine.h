/// What a library's operation has to work with in a call (external::Machine): the stream and the
/// memory of the call on its device, or the threads of the CPU.
#pragma once

#include <external/external_call.h>
#include <runtime/device.h>
#include <runtime/run_context.h>

namespace nvfuser {

/// `all_bytes`: of the operation's operands and results. Of few, the calling thread does all.
external::Machine hostMachine(const RunContext& context, int64_t all_bytes);
/// Valid as long as `device`. What an operation allocates goes with the last copy of it, or before.
external::Machine machineOf(Device& device, const RunContext& context, int64_t all_bytes);

}  // namespace nvfuser
