/// Computes one side of a choice that all elements of a GPU thread's vector make alike.
///
/// What: a loop over a vector's elements, in which a condition that turns between vectors chooses
/// what an element is, becomes two of them in the branches of an `if`, each with its own side
/// alone.
///
///   for k in 0..8 unrolled                     if (0 < 1024 - 8·n)
///     T1 = 8·n + k < 1024                        for k in 0..8 unrolled
///     T2 = sigmoid(T5[k])                 →        T4[k] = sigmoid(T5[k])
///     T3 = exp(T6[k])                          else
///     T4[k] = where(T1, T2, T3)                  for m in 0..8 unrolled
///                                                  T4[m] = exp(T6[m])
///
/// Why: each thread would compute both sides of each element. Joined halves (the gradients of gated
/// layers) meet at a multiple of a vector, and nearly all warps lie within one of them.
///
/// Why here: indices are final, and have no names yet. Loads have their own conditions.
///
/// What it does not do: sides that cost less than a few additions; conditions that are no line in
/// the variable, may turn within a vector, or come from data.
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser {

void branchChoices(kir::Kernel& kernel);

}  // namespace nvfuser
