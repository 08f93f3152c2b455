/// The three loop nests of a scatter in a kernel (scatter.h).
#pragma once

#include <unordered_set>
#include <vector>

#include <ir/internal_nodes.h>
#include <scheduler/scatter/scatter.h>

namespace nvfuser::scatters {

/// By the tensor whose loops each has.
struct Nests {
  TensorView* target = nullptr;
  TensorView* write = nullptr;
  TensorView* result = nullptr;
  int64_t dim = 0;

  std::vector<TensorView*> references() const { return {target, write, result}; }
};

/// Whether its elements do not lie side by side.
bool hasGaps(const TensorView* tv);

/// The output that a scatter's result is copied to, if nothing else reads it: it can be written
/// there in the first place. Else the result.
TensorView* storedResult(const ScatterOp* op);

/// Target, write and result (ir/internal_nodes.h) for the one scatter that there is.
Nests separate(Fusion* fusion);

/// Those of a scheduled scatter.
Nests nestsOf(const Fusion& scheduled);

/// Tensors that are computed in the loops of one of the three: those that lead to it and what else
/// is made of these, up to the others.
std::unordered_set<TensorView*> nestOf(TensorView* reference, const Nests& nests);

/// Of [A…, D, B…] to [A·…, D, B·…].
void mergeAround(TensorView* tv, int64_t dim);

}  // namespace nvfuser::scatters
