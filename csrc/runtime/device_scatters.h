/// Scatters on a GPU by a kernel of ours (runtime/scatter_entries.cuh), where no generated kernel
/// has them (scheduler/scatter/) and no library there does: entries that are written to a part of
/// their axes, and what exact numerics keep from kernels that combine in any order.
#pragma once

#include <optional>

#include <external/external_call.h>
#include <runtime/run_context.h>
#include <runtime/tensor.h>

namespace nvfuser {

/// The result, with the strides that `call` gives it. Nothing for a source that is a number, more
/// than eight axes, and what threads do not combine in memory.
std::optional<Tensor> scatterOnDevice(const external::Call& call, const Tensor& self,
                                      Device& device, const RunContext& context);

}  // namespace nvfuser
