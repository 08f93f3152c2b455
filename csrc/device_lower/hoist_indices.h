/// Names index expressions that are used more than once, at the outermost place where their symbols
/// are known.
///
/// What: a subexpression becomes `let n0 = …` if it is used twice in a block, or inside a loop that
/// does not change it.
///
/// Why: the compilers at run time would find most of it, at a cost; and a reader sees which
/// accesses share an index.
///
/// Why here: last, when all indices are final.
///
///   if (blockIdx.x * 512 + k1 * 128 + threadIdx.x < i0)
///     T3[blockIdx.x * 512 + k1 * 128 + threadIdx.x] = …
///
/// becomes
///
///   let n0 = blockIdx.x * 512 + threadIdx.x
///   for k1
///     let n1 = n0 + k1 * 128
///     if (n1 < i0)
///       T3[n1] = …
///
/// What moves out of a loop or a condition may be a quotient by an extent of zero, which these kept
/// from being computed: there it divides by max(extent, 1).
///
/// What it does not do: name an expression that is one operation on two symbols; that saves
/// nothing.
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser {

void hoistIndices(kir::Kernel& kernel);

}  // namespace nvfuser
