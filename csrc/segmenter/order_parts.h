/// The order in which kernels run: each behind those whose tensors it reads and, if it can be,
/// behind the readers of an input that it updates; of those that can run, first the one that leaves
/// least in memory.
///
///   T1 = f(T0); T2 = sum(T1); T3 = g(T0); T4 = sum(T3)     kernels store T1, T2, T3, T4
///   T1, T2, T3, T4 in turn: one large tensor at a time; T1, T3, T2, T4 would be two
///
/// A tensor between kernels is given back behind its last reader, an output is kept. The choice is
/// greedy: the best order is easy to find for a tree (Sethi, Ullman 1970, for registers), but not
/// for a graph (Sethi 1975).
#pragma once

#include <vector>

#include <segmenter/questions.h>

namespace nvfuser {

/// Parts that compute something, in order; ties go by the last unit.
std::vector<Part> orderParts(const FusionTraits& traits, std::vector<Part> parts);

}  // namespace nvfuser
