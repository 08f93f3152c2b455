/// What: the parameters of a kernel, in the order in which it takes them: tensors (inputs, outputs,
/// workspaces), with `checked` the table that accesses are checked with, tensor maps, sizes and
/// strides in the order of the Fusion's scalars, other scalars, a random generator's seed.
///
/// Why here: what the statements mention has to be passed, and no later pass adds to it.
///
///   T2[n1] = add(T0[n1], 2 * i2)     →     kernel (T0, T2, i2)
///
/// It leaves out tensors that no statement reads or writes, and the launch's dimensions, which
/// kernels read from the hardware.
#pragma once

#include <device_lower/allocation.h>

namespace nvfuser {

void collectParameters(const Fusion& fusion, const Allocations& allocations, const Symbols& symbols,
                       const std::vector<const Val*>& scalar_operands, bool checked,
                       kir::Kernel& kernel);

}  // namespace nvfuser
