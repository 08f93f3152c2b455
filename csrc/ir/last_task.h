/// Reductions over blocks on the CPU, whose tasks cannot wait for each other: each leaves its part,
/// and the one that comes last goes on alone, with the result and all that is computed from it.
///
///   T1[rS blockIdx.x, rS] = sum(T0)        tasks add up their parts; the last one adds these up,
///   T2[] = T1 / n                          computes T2 and writes it
///
/// What: which tensors the last task computes, or that it cannot be: what follows is spread over
/// the same blocks, or follows from two such reductions (of which different tasks are the last), or
/// something is exchanged through memory besides. Then one task does the work of all blocks.
///
/// Why here: it looks at bindings alone. Lowering decides by it which of them are loops
/// (iteration_space/loop_model.h), a scheduler whether tasks may share a row.
#pragma once

#include <optional>
#include <unordered_map>

#include <ir/fusion.h>

namespace nvfuser {

/// For each tensor that a reduction over blocks is behind, that reduction.
using LastTasks = std::unordered_map<const TensorView*, const Expr*>;

bool isReducedOverBlocks(const TensorView* tv);

/// None: tasks cannot share the fusion's reductions over blocks.
std::optional<LastTasks> findLastTasks(const Fusion& fusion);

}  // namespace nvfuser
