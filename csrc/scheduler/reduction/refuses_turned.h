/// On a GPU, refuses a large border tensor that lies along kept axes where others lie along the
/// rows, or the other way round, or of which a total of everything goes along another axis: threads
/// that go along the rows would take a line of memory for each of its elements. A kernel of its own
/// turns it in tiles. So does it for operands that caches hold, where millions of elements read
/// them and neighbouring threads would read them in different lines.
///
///   T2[b, t, c] = layer_norm(T0[b, t, c] + T1[b, t, c]), T1 in memory as [b, c, t]: T1
///   T2 = sum(T0[n, m] * T0[m, n]): T0, of one of its parts
///
/// Windows that are an input and overlap lie along both of their axes, and are turned by neither.
#pragma once

#include <scheduler/reduction/problem.h>

namespace nvfuser::reduction {

std::optional<Refusal> refusesTurned(const Problem& problem);

}  // namespace nvfuser::reduction
