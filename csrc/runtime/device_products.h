/// Products of matrices on a GPU by a kernel of ours (runtime/strided_product.cuh), for what no
/// library there takes: any strides, dtypes, scales and groups. Sums are Float for floating-point
/// numbers of up to 32 bits, else as wide as the result; tensor cores are not used.
#pragma once

#include <external/product.h>
#include <runtime/run_context.h>

namespace nvfuser {

/// Writes the product, whose memory is the device's. False, with nothing written, for dtypes that
/// kernels do not have.
bool multiplyOnDevice(const external::Product& product, Device& device, const RunContext& context);

/// The same for groups, whose ends the kernel reads: what does not ascend up to the length is cut
/// off there. Rows or columns behind the last one become zeros.
bool multiplyOnDevice(const external::GroupedProduct& product, Device& device,
                      const RunContext& context);

}  // namespace nvfuser
