/// Attention and its gradients on a GPU by kernels of ours, where no library there has them:
/// products (device_products.h) and a kernel over the rows of scores between them
/// (runtime/attention_rows.cuh), in Float. Scores of as many heads as fit 256 MB are in memory at
/// once, those of one at least.
#pragma once

#include <external/attention.h>
#include <runtime/run_context.h>

namespace nvfuser {

/// Writes the results of an `SdpaFwdOp`, the generator's state included, or of an `SdpaBwdOp`;
/// memory of `call` is the device's. False, with nothing written, for what kernels do not take.
bool attendOnDevice(const external::Call& call, Device& device, const RunContext& context);

}  // namespace nvfuser
