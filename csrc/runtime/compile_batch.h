/// Compiling the kernels of many executors together (compile_kernels.h), which costs a fraction of
/// as many compilations.
#pragma once

#include <span>

#include <runtime/executor.h>

namespace nvfuser {

/// Lowers the fusion of each executor (see `KernelExecutor::adopt`) for `device` and compiles all
/// of them; then `run` finds its variant. Results are those that compiling one by one gives. On the
/// CPU the index type is always Int. Throws the first `CompileError` if some do not compile; the
/// others are compiled all the same.
void compileBatch(std::span<KernelExecutor* const> executors, Device& device,
                  PrimDataType index_type, const CompileParams& params = {});

}  // namespace nvfuser
