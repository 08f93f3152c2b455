/// Integers among a Fusion's inputs that no plan depends on: operands of what is computed element
/// by element, or drawn, and of nothing else.
///
///   T1[i0] = uniform(i0, seed, offset)     T2[i0 / s] = reshape(T0, {i0 / s, s})
///
/// seed and offset are free: a call with others is like the one before. s is not. Neither is what
/// an operation may have no result for (a divisor, a shift): it is looked at when a call is
/// planned.
#pragma once

#include <vector>

#include <ir/fusion.h>

namespace nvfuser {

/// For each input whether it is one.
std::vector<bool> freeIntegers(const Fusion& fusion);

}  // namespace nvfuser
