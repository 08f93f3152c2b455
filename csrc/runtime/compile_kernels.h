/// Many kernels through a device's compiler: each once in the process, several at a time.
///
///   kernels ─→ found in the process, or being compiled for another call: waited for
///           └→ the rest: texts of about as many kernels as each processor gets (one kernel a text
///              for NVRTC), a thread for each text, at most as many as there are processors
///
/// A text that takes longer than its deadline (NVFUSER_COMPILE_SECONDS) is an error of its kernels.
/// The host's compiler is stopped then. NVRTC cannot be: its thread is left behind with the text,
/// NVRTC's program and, for as long as it compiles, a processor. Nothing waits for it, not even the
/// end of the process. There is one such thread for each text that was given up, not for each call
/// that asks for it: until the thread ends, such calls get the error at once; afterwards the kernel
/// is there for them, in the process and on the disk.
///
/// A host compiler takes about 65 ms to start and read the snippets and 15 ms a kernel, so few
/// texts are best, as long as there is one for each processor. NVRTC starts in no time and runs on
/// several threads at once (docs/performance.md); there a kernel has a text of its own, so that its
/// cubin is found on the disk whatever was compiled beside it.
///
/// A call that its caller ends while it waits stops the host's compiler and leaves NVRTC behind.
/// Other calls that wait for the same kernels compile them themselves.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include <runtime/compiled_kernel.h>

namespace nvfuser {

/// Compiles those that are not compiled yet, all of one device; several threads may, with the same
/// kernels too. For each kernel what was wrong with it, null where nothing was. Of several in one
/// text that does not compile the wrong ones are found by halves. Throws what `cancellation` (null:
/// none) throws.
std::vector<std::exception_ptr> compileKernels(std::span<CompiledKernel* const> kernels,
                                               Cancellation* cancellation);

}  // namespace nvfuser
