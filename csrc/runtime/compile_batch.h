/// Compiling many kernels in one run of the device's compiler, which costs a fraction of as many
/// runs.
#pragma once

#include <span>

#include <runtime/executor.h>

namespace nvfuser {

/// Lowers the fusion of each executor (see `KernelExecutor::adopt`) for `device` and compiles all
/// of them as one text; then `run` finds its variant. Results are those that compiling one by one
/// gives. On the CPU the index type is always Int. `CompileError` if any of the kernels does not
/// compile.
void compileBatch(std::span<KernelExecutor* const> executors, Device& device,
                  PrimDataType index_type, const CompileParams& params = {});

}  // namespace nvfuser
