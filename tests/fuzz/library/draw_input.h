/// Random layouts: dense, permuted, padded, strided, expanded, with an offset in the storage.
#pragma once

#include <fuzz/library/draw.h>
#include <fuzz/library/program.h>

namespace nvfuser::fuzz {

/// Sizes near what kernels cut at: 0, 1, primes, vectors and blocks and one more or less.
/// `elements`: about how many at most, altogether.
std::vector<int64_t> drawSizes(Draw& draw, double elements);

/// An input of these sizes; axes that have to be broadcast (`broadcast[i]`, of size 1) are.
Input drawInput(Draw& draw, int64_t id, DataType dtype, const std::vector<int64_t>& sizes,
                const std::vector<bool>& broadcast);

DataType drawDtype(Draw& draw, ValueMode mode);

}  // namespace nvfuser::fuzz
