/// Which axis of a producer becomes which axis of a consumer in one operation, and how axes lie in
/// memory.
#pragma once

#include <utility>
#include <vector>

#include <ir/composite_nodes.h>
#include <ir/fusion.h>

namespace nvfuser {

/// Axes of a tensor but for those that a reduction took.
size_t rankOf(const Val* tensor);

/// Whether the axes of both, but for those that a reduction took, lie in memory in one order.
bool sameMemoryOrder(const TensorView* a, const TensorView* b);

/// Pairs (axis of `producer`'s logical domain without reductions, axis of `consumer`'s root domain
/// (logical where it has no root)) that correspond in `expr`, which reads `producer` and writes
/// `consumer`, in the consumer's order. Left out: axes that the operation adds (broadcast,
/// reduction of nothing), drops (squeeze, select) or reads through an index (gather, index-select
/// along their axis). A pair may join a broadcast axis of the producer with a concrete one of the
/// consumer; both are then in the list all the same.
std::vector<std::pair<IterDomain*, IterDomain*>> mapAxes(const Expr* expr,
                                                         const TensorView* producer,
                                                         const TensorView* consumer);

/// Tensors among the inputs / outputs of an expression, in order, each once.
std::vector<TensorView*> tensorInputs(const Expr* expr);
std::vector<TensorView*> tensorOutputs(const Expr* expr);
/// Tensors read by the definition of `tv` (empty for fusion inputs).
std::vector<TensorView*> producersOf(const TensorView* tv);
/// Tensors that read `tv` and lead to an output, in definition order.
std::vector<TensorView*> consumersOf(const TensorView* tv);
/// The other outputs of `tv`'s definition.
std::vector<TensorView*> siblingsOf(const TensorView* tv);

}  // namespace nvfuser
