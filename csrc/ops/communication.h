/// Data of other devices, as operations of the Fusion that each of them runs (ir/composite_nodes.h
/// says what they do). A user does not call them: multidevice/ puts them where tensors that are
/// shared meet.
#pragma once

#include <vector>

#include <ir/composite_nodes.h>
#include <ir/interface_nodes.h>

namespace nvfuser {

/// The result of the devices of `mesh` along one of its axes. `reduction`: of Allreduce and
/// ReduceScatter. Throws `UserError` for an operand that has not the axis which the type needs, or
/// whose numbers cannot be combined so. `after`: the result of the communication before it, if
/// there is one. All devices come to their communications in one order; operands say which.
TensorView* communicate(CommunicationType type, TensorView* in, const DeviceMesh& mesh,
                        ParallelType along, BinaryOpType reduction = BinaryOpType::Add,
                        TensorView* after = nullptr);

/// Several of them as one operation.
std::vector<TensorView*> communicate(CommunicationType type, const std::vector<TensorView*>& ins,
                                     const DeviceMesh& mesh, ParallelType along,
                                     BinaryOpType reduction, TensorView* after);

}  // namespace nvfuser
