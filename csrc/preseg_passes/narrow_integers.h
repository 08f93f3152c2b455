/// Pass `narrow-integers`: integers of 64 bits that fit 32 have 32, where they are counted, added
/// up, clamped, chosen and compared within the Fusion, and where they are an index.
///
///   T1[i] = (int64_t)T0[i]               T6[i] = (int)T0[i]
///   T2[i] = min(max(T1, 0), 15)          T7[i] = min(max(T6, 0), 15)
///   T3[k] = iota(16)              →      T8[k] = iota(16)
///   T4[i, k] = T2 == T3                  T4[i, k] = T7 == T8
///   T5[i, k] = (float)(int64_t)T4        T5[i, k] = (float)(int)T4
///
/// PyTorch's integers have 64 bits: a loop that counts classes or compares places would have half
/// as many lanes as one of floats, and a CPU without AVX-512 has no instruction that makes floats
/// of them; a GPU takes two to four instructions for one. Ranges tell: of counts, by their length;
/// of casts, by the dtype; of clamps, by their bounds; of sums, by how many numbers they have (of a
/// mask, at most as many). A float that is cut to an integer may lie beyond 32 bits: it becomes the
/// nearest number there is (`toInteger`), which compares with all numbers inside, and is clamped to
/// a bound, as the one of 64 bits would be. Labels that inputs hold, beside classes that are
/// counted, are clamped to just beyond these.
///
/// A choice for numbers below 0 goes where there are none: codes of 8 bits are no index that counts
/// from an axis' end.
///
/// Left alone: what else inputs hold; what an output or an operation of another kind reads;
/// positions that are compared with a number, which loops do without vectors of integers.
#pragma once

#include <ir/fusion.h>

namespace nvfuser::preseg_passes {

void narrowIntegers(Fusion& fusion);

}  // namespace nvfuser::preseg_passes
