/// Puts barriers between statements whose threads exchange data through shared or global memory.
///
/// What: read after write, a barrier between the write of a buffer and a read by another thread.
/// Write after read, a barrier at the end of a loop whose next iteration writes the buffer again
/// while others may still read.
///
/// Why: no barrier is needed exactly if each thread reads only what it wrote itself. That is so if,
/// for every thread dimension that the kernel uses, writer and reader are bound to it by axes that
/// are equal in the exact graph.
///
/// Why here: it is decided on the loop tree, where every place is reached by all threads.
/// Predicates come later, and only around single statements.
///
///   loop blockIdx.x                       loop blockIdx.x
///     loop threadIdx.x { T1_s = T0 }        loop threadIdx.x { T1_s = T0 }
///     loop threadIdx.y { T2 = T1_s }   →    sync block
///                                           loop threadIdx.y { T2 = T1_s }
///
/// Asynchronous copies (async_copy.h) are waited for: cp.async right behind the copy, in front of
/// the barrier that publishes it; a bulk load by all threads in front of its first reader, which
/// spares that barrier; a bulk store before its source is written again, in front of the barrier
/// that says so, or at the end of the kernel. In front of a bulk store each thread fences what it
/// wrote.
///
/// It does not remove or merge barriers of the schedule's making, and has nothing to do on the CPU,
/// where blocks are tasks.
#pragma once

#include <device_lower/allocation.h>
#include <device_lower/loop_tree.h>

namespace nvfuser {

/// Returns whether a grid barrier was needed (the launch must be cooperative).
bool insertSyncs(LoopNode& root, const IdGraph& exact, const LoopModel& loops,
                 const Allocations& allocations, const LowerOptions& options);

}  // namespace nvfuser
