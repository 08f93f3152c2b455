/// Tensors of one element that not each thread (block) holds, though each could compute it.
///
///   S[i0 threadIdx.x]  in shared memory, i0 of one element, 128 threads
///   T[i0 threadIdx.x] = S                  only thread 0 may look at S: it wrote it, and no
///   barrier
///                                          is between them
///
/// Along an axis of one element, threads beyond it may compute the element in registers of their
/// own. They may not where an operand is memory in which each thread has its own part, nor where an
/// operand is held by few itself.
#pragma once

#include <map>
#include <set>

#include <iteration_space/loop_model.h>

namespace nvfuser {

/// The dimensions along which a tensor is held by few.
using HeldByFew = std::map<const TensorView*, std::set<ParallelType>>;

HeldByFew heldByFew(const Fusion& fusion, const LoopModel& loops);
bool isHeldByFew(const TensorView* tv, ParallelType type, const HeldByFew& held);

}  // namespace nvfuser
