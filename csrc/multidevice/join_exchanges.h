/// Pass `join-exchanges` over what a device runs: exchanges of one kind that do not wait for each
/// other become one, as the gradients of data-parallel training; so they cost one launch and one
/// agreement.
///
///   T4 = allreduce(T2)   T5 = allreduce(T3, after T4)      T6, T7 = allreduce(T2, T3)
///   T9 = mul(T4, T5)                                       T9 = mul(T6, T7)
///
/// One goes where the last of its operands is there: sums of parts, the large ones of which are on
/// their way before (runtime/run_exchanges.h), join whenever they can. Data that are only moved
/// join where they are known and needed at the same time, by the products and exchanges before, so
/// that nothing waits for what comes later. An allgather of a product's rows and an alltoall of its
/// result's stay by themselves: the product may be computed part by part. Those of other axes of
/// the mesh, or combined by another operation, stay apart, as does one whose operand needs the
/// result of another. What leads to no output goes. No copies are made: a transport takes the
/// tensors where they are.
///
/// Exchanges, and the operands of one, come in the order in which they are known: by the products
/// and exchanges before them, so that they can be on their way while the next ones are computed.
#pragma once

#include <string>
#include <vector>

#include <ir/fusion.h>
#include <ir/interface_nodes.h>

namespace nvfuser::multidevice {

/// An exchange that a sharding asked for.
struct Asked {
  const TensorView* result;
  std::string tensor;  ///< described
  std::string why;
};

/// Returns a line for each exchange that is left: what, of which tensors, and why.
std::vector<std::string> joinExchanges(Fusion& fusion, const std::vector<Asked>& asked);

}  // namespace nvfuser::multidevice
