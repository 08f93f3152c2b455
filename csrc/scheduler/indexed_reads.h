/// Reads at an index (select, index-select, gather along an axis) of computed tensors, done on the
/// inputs instead.
///
///   T1 = float(T0)                becomes    T3 = gather(T0, label)
///   T2 = gather(T1, label)                   T2 = float(T3)
///
/// A loop computes a tensor at its own element, not where an index says; an input can be read
/// anywhere. The tensor itself stays for its other readers (hoist-reads, before a Fusion is cut,
/// does the same where there are none).
///
/// So are reads of permuted tensors, along the axis that it was.
///
/// Left alone: reads of what is not computed element by element from inputs.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::scheduler_tools {

/// Whether `use` reads `tv` at other elements than it computes: where data decide, or beside them.
bool readsElsewhere(const Expr* use, const TensorView* tv);

/// Whether an input is only read at an index, along an axis that no loop goes along.
bool isReadAtIndex(const TensorView* tv);

/// Changes the fusion as described. Inputs and outputs keep their places.
void propagateIndexedReadsToInputs(Fusion* fusion);

}  // namespace nvfuser::scheduler_tools
