/// What: of a scatter that adds many entries to few elements, each block adds up its own entries in
/// shared memory, and then all blocks their sums.
///
///   T5[i] = 0                              T5[i] = 0
///                                          T5_part[i] = 0
///   sync grid                              sync grid
///   at = T1[e]                      →      at = T1[e]
///   T5[at] = atomic add T2                 T5_part[at] = atomic add T2
///                                          sync block
///                                          T5[i] = atomic add T5_part[i]
///   sync grid                              sync grid
///
/// Why: additions to one element of global memory wait for each other. A multiprocessor adds to its
/// shared memory beside all others.
///
/// Why here: all statements are there, and shared memory has no places yet.
///
/// Done where the schedule asks for it (KernelHints::adds_by_blocks): that the target fits and lies
/// without gaps is the scheduler's business (scheduler/scatter/plan_threads.cpp).
#pragma once

namespace nvfuser {

struct Lowering;

void addByBlocks(Lowering& lowering);

}  // namespace nvfuser
