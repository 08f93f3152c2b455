/// Quotients by what many others are divided by, too: a constant, a scalar, a number of each row,
/// or one that several tensors are divided by.
///
///   T3 = sum(T0)   T4 = broadcast(T3)   T5 = T0 / T4                     T5
///   T6 = sqrt(T5)   T7 = T0 / T6   T8 = T1 / T6                          T7, T8
///
/// A kernel of CUDA computes the reciprocal once and puts each product by it right
/// (runtime/divide_by.cuh): half of a division's instructions, and no branch.
#pragma once

#include <unordered_set>

#include <ir/fusion.h>

namespace nvfuser {

/// Results of Float divisions whose divisor is shared.
std::unordered_set<const TensorView*> quotientsByShared(const Fusion& fusion);

}  // namespace nvfuser
