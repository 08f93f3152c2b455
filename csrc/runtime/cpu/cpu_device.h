/// The CPU as a device: generated host C++ compiled by the host's compiler, tasks of a launch
/// spread over the pool.
///
/// Beyond `Device`: compiled code as bytes, past the disk cache.
#pragma once

#include <runtime/device.h>
#include <runtime/host_compiler/host_compiler.h>

namespace nvfuser {

/// What the binary of `source` depends on besides its text, as text: compiler, flags, CPU.
std::string cpuBinaryKey(const KernelSource& source);
/// The bytes of the compiled kernel. `CompileError` with the compiler's log.
std::string compileCpuBinary(const KernelSource& source, std::string* log = nullptr);
/// A kernel from bytes that `compileCpuBinary` gave (now, or earlier under the same key).
std::unique_ptr<LoadedKernel> loadCpuBinary(const KernelSource& source, std::string_view bytes);

}  // namespace nvfuser
