/// Pass `spread-selections`: rows that are selected are read at an index that is spread along all
/// other axes.
///
///   T2[n, c] = index_select(T0, T1, dim = 0)   →   T3[n, b] = broadcast(T1)
///                                                  T2[n, c] = gather(T0, T3, dim = 0, exact)
///
/// A kernel of a GPU has the loops of what is read, and an index with an axis for each of them has
/// these loops, too, so that threads read rows in vectors. On any device an index that is computed
/// is computed in these loops, and needs no kernel of its own. (On the CPU, where an index out of
/// range is an error that names the selection, others stay.)
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void spreadSelections(Fusion& fusion);
/// Those at a computed index alone.
void spreadComputedSelections(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
