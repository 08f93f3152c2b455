/// Pass `read-uncut`: what is read at an index of a slice of an input is read of the input, at the
/// index of the same element there.
///
///   T2[a, n] = slice(T0)[a, n] = T0[a, n - 1 - i]      T1' = (T1 / n) · n + (n - 1 - T1 % n)
///   T3[a·n]  = reshape(T2)                          →  T3'[a·n] = reshape(T0)
///   T4[i]    = gather(T3, T1)                          T4[i]    = gather(T3', T1')
///
/// A kernel reads at an index what lies in memory: a slice would be stored first. Pictures that are
/// cut out or flipped are then padded by mode, resized or sampled at indices of their planes.
///
/// For GPUs: on the CPU an index out of the slice's range is an error, which this one hides. Left
/// alone: sizes that only a call knows, and cuts along other axes than the index has.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void readUncut(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
