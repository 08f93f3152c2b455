/// Why a scheduled Fusion has no kernel, as far as its loops tell: axes cannot share one, the loops
/// around a tensor do not lead to all of it, or a thread needs what another one has in registers.
/// Schedulers ask before they propose a plan; lowering, which asks the same model, then has nothing
/// to refuse.
#pragma once

#include <optional>
#include <string>

#include <iteration_space/places.h>

namespace nvfuser {

/// An axis of `tv` that the loops in which it is stored do not lead to, or null. The result of a
/// reduction is stored outside of its loops, behind the first of them in loops of its own
/// (loop_tree.h).
const IterDomain* notStored(const TensorView* tv, const LoopModel& loops, const IdGraph& exact,
                            Symbols& symbols);

/// Whether each thread (block) of the dimension reads of `tv` what it wrote itself. `once`: what is
/// not spread over the dimension is written by the first one alone, not by each for itself.
/// `by_few`: where its loop has one turn, not all threads have the element.
bool readsItsOwn(const TensorView* tv, const TensorView* consumer, ParallelType type, bool once,
                 bool by_few, const LoopModel& loops, const IdGraph& exact);

/// `exact`: of the scheduled Fusion. Nothing where the loops are those of a kernel.
std::optional<std::string> refusedLoops(const Fusion& scheduled, const IdGraph& exact,
                                        LowerTarget target);

}  // namespace nvfuser
