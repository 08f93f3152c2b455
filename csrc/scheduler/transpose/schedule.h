/// Carries a plan of the transpose scheduler out.
///
///   T0[i0, i1] → T1 = relu(T0) → T2[i1, i0], computed along i1
///   T0 → T3 copy → T1 → T4 copy, shared (written along i1) → T5 copy (read along i0) → T2
///
/// All tensors get the loops [blocks, other tile, compute tile]; those of the compute side then go
/// over the tile along it, those of the other side along the other.
#pragma once

#include <scheduler/transpose/transpose.h>

namespace nvfuser::transpose {

void schedule(Fusion* fusion, const TransposeParams& params);

}  // namespace nvfuser::transpose
