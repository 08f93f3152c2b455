/// The CPU as a device: generated host C++ compiled by the host's compiler, tasks of a launch
/// spread over the pool.
///
/// Beyond `Device`: compiled code as bytes, past the disk cache; the order of tasks, for tests.
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

/// How the tasks of all later launches run, whose results may not depend on it: at the same time,
/// or one by one, the last one first. What a task wrongly takes from an earlier one is missing
/// then.
enum class CpuTaskOrder { Parallel, Reverse };
void setCpuTaskOrder(CpuTaskOrder order);

}  // namespace nvfuser
