/// The numbers of a plan, for each kind of loops. Pure functions of sizes and device.
#pragma once

#include <scheduler/reduction/problem.h>
#include <support/round.h>

namespace nvfuser::reduction {

/// Rows that lie together in memory, on a GPU: serial loops over a row, one or several rows a
/// block, or (with `may_split`) several blocks a row.
void planInner(const Problem& problem, bool may_split, ReductionParams& params);
/// Columns that lie together in memory, on a GPU.
void planOuter(const Problem& problem, bool may_split, ReductionParams& params);
/// The same, where columns do not fit the chip and are read again: a block stays with its strip, so
/// that rows in flight have to keep the memory busy. Few strips are shared by several blocks each.
void planOuterPasses(const Problem& problem, ReductionParams& params);
/// Several blocks for each of `blocks` groups of rows, of which each block has some of the `steps`.
/// All run at once, `resident` on a multiprocessor: where something is computed from the result,
/// they wait for it.
void splitOverBlocks(const Problem& problem, int64_t blocks, int64_t resident, int64_t steps,
                     ReductionParams& params);
/// Either, on the CPU.
void planHost(const Problem& problem, ReductionParams& params);
/// What a task of the CPU holds of its row between passes over it, and whether variances are
/// computed in passes, behind `planHost` and `shareRows`.
void planPasses(const Problem& problem, ReductionParams& params);
/// Rows too few for the CPU's threads, behind planHost: several tasks for each, where the last one
/// can go on alone.
void shareRows(const Problem& problem, ReductionParams& params);

/// Chunks of a long sum, on any device, behind all of these.
void planChunks(const Problem& problem, ReductionParams& params);

}  // namespace nvfuser::reduction
