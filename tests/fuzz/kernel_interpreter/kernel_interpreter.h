/// Runs a kernel from its IR: no text, no compiler.
///
/// All threads of some blocks (of all, where blocks wait for each other or combine their results)
/// take each statement together, as *lanes*; those for which an `If` does not hold sit it out. So
/// barriers have nothing to do, and asynchronous copies are done at once. What is found is what
/// lowering decides: which elements are read, written, computed, and in which order. Races are not
/// (the emulated device is for those), nor is what the texts and their compilers do.
///
/// Registers are filled with bytes of ones where they are declared, workspaces and shared memory
/// before the launch; an access outside a buffer is an `InternalError` that names the statement.
#pragma once

#include <span>

#include <kernel_ir/kernel.h>
#include <runtime/device.h>

namespace nvfuser::fuzz {

/// The size in bytes of the memory that begins at an address or contains it, counted from there.
using BytesAt = std::function<size_t(const void*)>;

/// A kernel takes more steps, or more memory, than anybody waits for.
class TooLong : public UserError {
 public:
  using UserError::UserError;
};

/// Throws `TooLong`.
void interpretKernel(const kir::Kernel& kernel, const LaunchShape& shape,
                     std::span<void* const> args, const BytesAt& bytesAt);

}  // namespace nvfuser::fuzz
