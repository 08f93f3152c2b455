/// Can the kernel read and write the memory that it is given? Throws `UserError` where it cannot.
///
/// Every tensor has memory on the device, and no output overlaps another tensor that the kernel
/// reads or writes: elements would be overwritten before they are read. Left out is the input whose
/// storage an output reuses, which the kernel gets only where that does no harm (in_place.h).
#pragma once

#include <runtime/executor_kernel_arg.h>

namespace nvfuser {

void checkStorage(const Fusion& fusion, const KernelArgumentHolder& args,
                  const KernelArgumentHolder& outputs, const Device& device);

}  // namespace nvfuser
