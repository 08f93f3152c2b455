/// Whether the loops of a reduction are loops of all tensors beside it, looked at on a scheduled
/// copy.
///
///   T1[b, c] = sum(T0[b, c, n]); T2[b, n] = …    T2 has no axis c: it is refused beside T1
#pragma once

#include <id_model/id_graph.h>
#include <scheduler/reduction/params.h>
#include <scheduler/registry.h>

namespace nvfuser::reduction {

/// A loop of `tv` over an axis that the reference does not have, such as one that a reader of `tv`
/// selects one index of; null if there is none. Nothing that is computed of a row knows it.
const IterDomain* loopOfOwn(const TensorView* tv, const TensorView* reference,
                            const IdGraph& permissive);

/// Why the loops that `schedule` made of a copy are not those of every tensor; nothing if they are.
std::optional<Refusal> refusesLoops(const Fusion& scheduled, const ReductionParams& params);

}  // namespace nvfuser::reduction
