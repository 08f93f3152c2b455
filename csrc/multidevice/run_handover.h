/// Carries out what a stage gets from another mesh (handover.h), on one device.
#pragma once

#include <external/communicator.h>
#include <multidevice/handover.h>
#include <runtime/run_context.h>
#include <runtime/tensor.h>

namespace nvfuser {

/// `own`: the device's part where it is in the mesh that has the tensor, dense or not. Returns its
/// part on the other mesh, in memory of `device`; none where it is not there. Throws `UserError`
/// for a size that the devices of either mesh cannot share equally.
std::optional<Tensor> handOver(external::Communicator& communicator,
                               const multidevice::Handover& what, const Tensor* own, Device& device,
                               const RunContext& context);

}  // namespace nvfuser
