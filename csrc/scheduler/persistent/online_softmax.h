/// Greatest element and sum of exponentials of a row in one pass, for rows that nothing needs
/// again behind them:
///
///   m = max(x)                               m0, s0 = online_softmax(x)
///   s = sum(exp(x − broadcast(m)))     →     s = s0 == 0 or m0 == +∞ ? NaN : s0
///   log(s) + m                               m = s0 == 0 ? −∞ : m0
///                                            log(s) + m
///
/// x is read once and nothing of it is held, where it was held between two reductions. The step of
/// an element costs more than it does there (`runtime/online_softmax.cuh`), so that this pays where
/// all that is needed of the row are those two numbers, or where a row does not fit the chip.
/// Source: Milakov, Gimelshein: Online normalizer calculation for softmax (2018).
#pragma once

#include <ir/fusion.h>

namespace nvfuser {

/// Whether `fusion` has such a pair of reductions, in float or double.
bool hasOnlineSoftmax(const Fusion& fusion);

/// Exchanges all such pairs. The reductions' results keep their names and axes as m0 and s0.
void computeSoftmaxOnline(Fusion* fusion);

/// Whether a fusion whose pairs were exchanged needs nothing of a row behind its reductions.
bool needsNoRow(const Fusion& exchanged);

}  // namespace nvfuser
