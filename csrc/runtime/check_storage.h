/// Can the kernel read and write the memory that it is given? Throws `UserError` where it cannot.
///
/// Every tensor has memory on the device; an output that reuses an input's storage finds there the
/// layout that it writes; and no output overlaps a tensor that the kernel also reads or writes
/// elsewhere, unless the Fusion says so (`aliasOutputToInput`): elements would be overwritten
/// before they are read.
#pragma once

#include <runtime/executor_kernel_arg.h>

namespace nvfuser {

class ExpressionEvaluator;

void checkStorage(const Fusion& fusion, const KernelArgumentHolder& args,
                  const KernelArgumentHolder& outputs, const Device& device,
                  ExpressionEvaluator& evaluator);

}  // namespace nvfuser
