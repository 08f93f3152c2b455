/// What passes do to a Fusion: exchange one tensor for another, compute an operation again on other
/// operands. All of it in the Fusion of the tensors given; none needs a `FusionGuard`.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include <ir/fusion.h>
#include <ir/internal_nodes.h>

namespace nvfuser::preseg_passes {

/// Whoever reads `old` reads `with`, which has its dtype, sizes and broadcast axes. If `old` is an
/// output, so is `with`, or a copy of it where it cannot take that place itself: an input, another
/// output, or another order in memory. Aliases move along.
void replaceTensor(TensorView* old, TensorView* with);

/// Same dtype, and axis by axis the same kind (iterated, broadcast, expanded).
bool sameForm(const TensorView* a, const TensorView* b);

/// How often each tensor is read or is an output.
class ReaderCounts {
 public:
  explicit ReaderCounts(const Fusion& fusion);
  int of(const Val* val) const;

 private:
  std::unordered_map<const Val*, int> counts_;
};

/// Of a permute: for each axis of its result, the place among those of its operand.
std::optional<std::vector<size_t>> permutationOf(const Expr* expr);

/// Whether it copies a tensor as it is: neither a permutation nor a cut between kernels.
bool isPlainCopy(const Expr* expr);

/// The operand of a pointwise operation that is a tensor, where only one is, and all else is
/// scalars. Nothing for other operations (permutations included).
std::optional<size_t> onlyTensorOperand(const Expr* expr);

/// Whether what is made of `tv` element by element goes into reductions and reads at an index
/// alone.
bool endsInReductions(const TensorView* tv);
/// Whether a reduction reads something of it. (Or many others do.)
bool leadsToReductions(const TensorView* tv);

/// `expr`, a pointwise operation, on other operands: a fresh tensor of the dtype of its result.
TensorView* applyTo(const Expr* expr, const std::vector<Val*>& operands);

/// `expr`, a pointwise operation, with each tensor that it reads exchanged by `of`; null where that
/// gives null for one.
TensorView* applyToOthers(const Expr* expr, const std::function<TensorView*(TensorView*)>& of);

/// Expressions that lead to no output go.
void sweep(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
