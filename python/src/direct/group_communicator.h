/// A transport that Python hands over, as a process group of torch.distributed.
///
///   transport.prepare(kind, reduction, team, shift, gpu)   a function of tensors, asked for once
///   function(given, results)                                each exchange
///   transport.beside(function, given, results, stream, gpu) the same on a stream that is not
///                                                           PyTorch's current one
///   transport.numbers_of_all(team, own), transport.barrier()
///
/// `gpu`: the number of the GPU that has the tensors, none for memory of the host. `given` and
/// `results` are lists of tensors of one axis, of the exchange's dtype where numbers are combined,
/// else of bytes; None where a device gives or gets nothing, and the same tensor in both where the
/// result takes the operand's place. Their memory is lent for the call. Tensors without elements
/// are left out.
#pragma once

#include <memory>

#include <external/communicator.h>
#include <nanobind/nanobind.h>

namespace nvfuser::python {

/// `on_gpus`: takes tensors of GPUs, else of the host.
std::shared_ptr<external::Communicator> groupCommunicator(nanobind::object transport, int64_t rank,
                                                          int64_t size, bool on_gpus);

}  // namespace nvfuser::python
