/// What an index tensor holds where it only counts: an expression of the loops, which needs neither
/// memory nor a check.
///
///   T1 = iota(128, 127, -1)   T3 = gather(T0, T1)      T3[i] = T0[127 - i]: a row that is flipped
///   T4 = iota(9) + iota(100)  T5 = gather(T0, T4)      T5[i, j] = T0[i + j]: windows
///
/// So a loop along such an axis is one along its memory, and is written in vectors.
#pragma once

#include <optional>

#include <device_lower/indexer.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

struct CountedIndex {
  kir::Scalar value = nullptr;
  int64_t least = 0;  ///< that it is for any element
  int64_t most = 0;
};

/// Of the element of `tv` at these indices of its axes; nothing if it is made of more than numbers
/// that are known, counts of a known length, sums and products.
std::optional<CountedIndex> countedIndex(const TensorView* tv, const AxisIndex& axes,
                                         kir::ScalarPool& pool);

}  // namespace nvfuser
