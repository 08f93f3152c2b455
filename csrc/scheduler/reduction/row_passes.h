/// What is done to a row in each pass over it. A row lies in a cache near by (of the CPU) or in
/// registers (of a GPU's threads), so another pass costs less than what it would take to spare it.
#pragma once

#include <vector>

#include <ir/fusion.h>

namespace nvfuser {

/// Whether there are means and variances of plain numbers whose count has no reader.
bool hasMoments(const Fusion& fusion);

/// Means and variances in two passes instead of Welford's steps, each of which divides:
///
///   mean, M2, n = welford(x)   →   m = sum(x) / n   d = x − m   e = sum(d) / n
///                                  mean = m + e     M2 = max(sum(d²) − n e², 0)
///                                  (m where n = 1)
///
/// What the first pass missed of the mean is put right (Chan, Golub, LeVeque: Algorithms for
/// computing the sample variance, 1983): so the variance of equal numbers is 0.
void computeMomentsInPasses(Fusion* fusion);

/// On the CPU, what is held for a later pass and reduced in this one is computed once, in one loop:
///
///   T5 = exp(T4)   T6 = sum(T5)   T8 = T5 / T6   →   T5 = exp(T4)   T6 = sum(T5)   T9 = T5 (held)
///                                                    T8 = T9 / T6
///
/// Returns what is held: it may share no loop over the row with later passes.
std::vector<TensorView*> holdBesideReductions(Fusion* fusion);

}  // namespace nvfuser
