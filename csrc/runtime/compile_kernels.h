/// Many kernels through a device's compiler: each once in the process, several at a time.
///
///   kernels ─→ found in the process, or asked for by somebody else: waited for
///           └→ the rest: texts of about as many kernels as each processor gets (one kernel a text
///              for NVRTC), a thread for each text, at most as many as there are processors
///
/// A host compiler takes about 65 ms to start and read the snippets and 15 ms a kernel, so few
/// texts are best, as long as there is one for each processor. NVRTC starts in no time and runs on
/// several threads at once (docs/performance.md); there a kernel has a text of its own, so that its
/// cubin is found on the disk whatever was compiled beside it.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include <runtime/compiled_kernel.h>

namespace nvfuser {

/// Compiles those that are not compiled yet, all of one device; several threads may, with the same
/// kernels too. For each kernel what was wrong with it, null where nothing was. Of several in one
/// text that does not compile the wrong ones are found by halves.
std::vector<std::exception_ptr> compileKernels(std::span<CompiledKernel* const> kernels);

}  // namespace nvfuser
