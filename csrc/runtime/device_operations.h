/// Operations of a library by kernels of ours, where a device has no library for them.
#pragma once

#include <vector>

#include <external/external_call.h>
#include <runtime/executor_kernel_arg.h>
#include <scheduler/analysis/view_layout.h>

namespace nvfuser {

/// Sorts (device_orders.h), scatters (device_scatters.h), products (device_products.h) or attends
/// (device_attention.h). `operands`: of the call; `results`: what `call.allocate` allocates, or
/// tensors of `layouts` of their own. False, with nothing written, for what kernels do not take.
///
/// On the emulated device the host stands in for the library that multiplies plain matrices.
bool runOwnKernels(external::Call& call, const std::vector<KernelArgument>& operands,
                   const std::vector<ViewLayout>& layouts, std::vector<Tensor>& results,
                   Device& device, const RunContext& context);

}  // namespace nvfuser
