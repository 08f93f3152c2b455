/// Kernel IR → text. What a kernel does has been decided; here it is only written down.
///
/// The text is complete: the header comment, the snippets of `runtime/` that the kernel uses (each
/// once, in the order of their needs), then the kernel, with a comment on each loop and buffer. The
/// same kernel gives the same bytes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <kernel_ir/kernel.h>

namespace nvfuser {

struct GeneratedKernel {
  std::string text;
  size_t own_begin = 0;               ///< where, after the snippets, the kernel's own text begins
  std::vector<std::string> snippets;  ///< paths below runtime/, as included
  std::string entry;                  ///< name of the kernel in the text

  /// The header comment and the kernel's own text, without the snippets between them.
  std::string ownText() const;
};

/// CUDA C++: `extern "C" __global__ void entry(params…)`. Indices have the kernel's index type.
GeneratedKernel generateCuda(const kir::Kernel& kernel);
/// The same, under another name.
GeneratedKernel generateCuda(const kir::Kernel& kernel, std::string name);

/// C++ for the host's compiler: `extern "C" void entry(void* const* args, const long* grid, long
/// first, long last)` runs the blocks first ≤ b < last. Indices have 64 bits whatever the kernel
/// says, and so have index arguments. `InternalError` for what needs the threads of a block
/// (barriers, reductions among threads).
///
/// Loops of vectors have those that the CPU's registers of `vector_bytes` hold: of wider ones GCC
/// 12 does each comparison lane by lane.
GeneratedKernel generateHost(const kir::Kernel& kernel, int64_t vector_bytes = 64);
/// The same, under another name.
GeneratedKernel generateHost(const kir::Kernel& kernel, std::string name,
                             int64_t vector_bytes = 64);

/// Several kernels of one target (with different names) as one text, to be compiled together: each
/// snippet once, each kernel in a namespace of its own.
std::string joinKernels(std::span<const GeneratedKernel* const> kernels);

}  // namespace nvfuser
