/// Names index expressions that are used more than once, at the outermost place where their symbols
/// are known.
///
/// What   A subexpression becomes `let i0 = …` if it is used twice in a block, or inside a loop
/// that does not change it. Why    The compilers at run time would find most of it, at a cost; and
/// a reader sees which accesses share an index. here   Last, when all indices are final.
///
///   if (blockIdx.x * 512 + k1 * 128 + threadIdx.x < i0)          let n0 = blockIdx.x * 512 +
///   threadIdx.x
///     T3[blockIdx.x * 512 + k1 * 128 + threadIdx.x] = …     →    for k1: let n1 = n0 + k1 * 128 …
///
/// It leaves expressions alone that are one operation on two symbols: naming them saves nothing.
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser {

void hoistIndices(kir::Kernel& kernel);

}  // namespace nvfuser
