/// Names the block and the word of a random number apart, so that neighbours share a block.
///
/// What: one block of the generator has four words, of elements 4b … 4b + 3. Where the element's
/// index is a multiple of four and a small rest, the block is that of the multiple and of the rest:
///
///   T1 = uniform(seed, offset, i0·i4 + k·8 + v)      i4 known to be a multiple of 8, v < 8
///
/// becomes
///
///   T1 = uniform(seed, offset, block (i0·i4 + k·8)/4 + v/4, word v%4)
///
/// Why: unrolled over v the blocks of neighbours are equal expressions, and the generator's ten
/// rounds, which are most of the work of a dropout, run once for four elements.
///
/// Why here: when all indices are final and what divides them is known; before they get names.
///
/// What it does not do: numbers of 64 bits (two words an element), and the CPU, where loops of
/// vectors draw many blocks at once (runtime/cpu/simd_philox.h).
#pragma once

#include <kernel_ir/kernel.h>

namespace nvfuser {

void shareDraws(kir::Kernel& kernel);

}  // namespace nvfuser
