/// Values that a loop of the CPU shares: what has no axis of it is computed in front of it, once.
///
///   T3[i0, b1] = log(T2)          for i0: { T3 = log(T2)
///   T4[i0, i1] = T1 * T3     →              for i1: T4 = T1 * T3 }
///
/// Inlined as far as it goes, the logarithm would be taken for each vector of a row.
#pragma once

#include <unordered_map>

#include <ir/interface_nodes.h>

namespace nvfuser {

/// Adds the computed tensors without an axis among their loops from `position` on, each to be held
/// there (`MaxPosCalculator`), where it is not held already.
void holdRowValues(const std::vector<TensorView*>& tensors, int64_t position,
                   std::unordered_map<const TensorView*, int64_t>& held);

}  // namespace nvfuser
